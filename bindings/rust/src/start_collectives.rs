//! Collectives that run while the caller goes on; collectives.rs has those that do not.
use crate::calls;
use crate::error::{c_int, Error, Result};
use crate::memory::{Borrowed, Readable, Writable};
use crate::reduce_op::Operator;
use crate::start::Start;
use crate::work::Work;

impl<'a> Start<'a> {
    /// See [`Group::broadcast`](crate::Group::broadcast).
    pub fn broadcast<B: Writable + 'a>(&self, data: B, src: usize) -> Result<Work<'a, B>> {
        let mut data = Borrowed::new(data);
        let call = calls::broadcast(data.writing(), c_int(src, "src")?);
        self.begin(call, move |_| Ok(data.give_back()))
    }

    /// See [`Group::all_reduce`](crate::Group::all_reduce).
    pub fn all_reduce<B: Writable + 'a>(
        &self,
        data: B,
        op: impl Into<Operator>,
    ) -> Result<Work<'a, B>> {
        let (mut data, op) = (Borrowed::new(data), op.into());
        let call = calls::all_reduce(None, data.writing(), op.number());
        self.begin(call, move |_| give_back(data, op)).map_err(Error::in_place)
    }

    /// See [`Group::all_reduce_into`](crate::Group::all_reduce_into); gives back the output.
    pub fn all_reduce_into<I, O>(
        &self,
        input: I,
        output: O,
        op: impl Into<Operator>,
    ) -> Result<Work<'a, O>>
    where
        I: Readable + 'a,
        O: Writable<Element = I::Element> + 'a,
    {
        let (input, mut output, op) = (Borrowed::new(input), Borrowed::new(output), op.into());
        let call = calls::all_reduce(Some(input.reading()), output.writing(), op.number());
        self.begin(call, move |_| give_back(output, (input, op)))
    }

    /// See [`Group::all_reduce_addends`](crate::Group::all_reduce_addends); gives back the output.
    pub fn all_reduce_addends<I, O>(
        &self,
        inputs: Vec<I>,
        output: O,
        op: impl Into<Operator>,
    ) -> Result<Work<'a, O>>
    where
        I: Readable + 'a,
        O: Writable<Element = I::Element> + 'a,
    {
        let (inputs, mut output, op) = (Borrowed::new(inputs), Borrowed::new(output), op.into());
        let list = inputs.reading_each();
        let call = calls::all_reduce_addends(list, output.writing(), op.number());
        self.begin(call, move |_| give_back(output, (inputs, op)))
    }

    /// See [`Group::reduce`](crate::Group::reduce).
    pub fn reduce<B: Writable + 'a>(
        &self,
        data: B,
        op: impl Into<Operator>,
        dst: usize,
    ) -> Result<Work<'a, B>> {
        let (mut data, op) = (Borrowed::new(data), op.into());
        let call = calls::reduce(None, Some(data.writing()), op.number(), c_int(dst, "dst")?);
        self.begin(call, move |_| give_back(data, op)).map_err(Error::in_place)
    }

    /// See [`Group::reduce_into`](crate::Group::reduce_into); gives back the output.
    pub fn reduce_into<I, O>(
        &self,
        input: I,
        output: Option<O>,
        op: impl Into<Operator>,
        dst: usize,
    ) -> Result<Work<'a, Option<O>>>
    where
        I: Readable + 'a,
        O: Writable<Element = I::Element> + 'a,
    {
        let (input, mut output, op) = (Borrowed::new(input), output.map(Borrowed::new), op.into());
        let writing = output.as_mut().map(|output| output.writing());
        let call = calls::reduce(Some(input.reading()), writing, op.number(), c_int(dst, "dst")?);
        self.begin(call, move |_| {
            drop((input, op));
            Ok(output.map(Borrowed::give_back))
        })
    }

    /// See [`Group::all_gather`](crate::Group::all_gather); gives back the outputs.
    pub fn all_gather<I, O>(&self, input: I, outputs: Vec<O>) -> Result<Work<'a, Vec<O>>>
    where
        I: Readable + 'a,
        O: Writable<Element = I::Element> + 'a,
    {
        let (input, mut outputs) = (Borrowed::new(input), Borrowed::new(outputs));
        let call = calls::all_gather(Some(input.reading()), outputs.writing_each());
        self.begin(call, move |_| give_back(outputs, input))
    }

    /// See [`Group::all_gather_in_place`](crate::Group::all_gather_in_place).
    pub fn all_gather_in_place<B>(&self, outputs: Vec<B>) -> Result<Work<'a, Vec<B>>>
    where
        B: Writable + 'a,
    {
        let mut outputs = Borrowed::new(outputs);
        let call = calls::all_gather(None, outputs.writing_each());
        self.begin(call, move |_| Ok(outputs.give_back()))
    }

    /// See [`Group::all_gather_into_tensor`](crate::Group::all_gather_into_tensor); gives back the
    /// output.
    pub fn all_gather_into_tensor<I, O>(&self, input: I, output: O) -> Result<Work<'a, O>>
    where
        I: Readable + 'a,
        O: Writable<Element = I::Element> + 'a,
    {
        let (input, mut output) = (Borrowed::new(input), Borrowed::new(output));
        let call = calls::all_gather_into_tensor(Some(input.reading()), output.writing());
        self.begin(call, move |_| give_back(output, input))
    }

    /// See
    /// [`Group::all_gather_into_tensor_in_place`](crate::Group::all_gather_into_tensor_in_place).
    pub fn all_gather_into_tensor_in_place<B>(&self, output: B) -> Result<Work<'a, B>>
    where
        B: Writable + 'a,
    {
        let mut output = Borrowed::new(output);
        let call = calls::all_gather_into_tensor(None, output.writing());
        self.begin(call, move |_| Ok(output.give_back()))
    }

    /// See [`Group::gather`](crate::Group::gather); gives back the outputs.
    pub fn gather<I, O>(&self, input: I, outputs: Vec<O>, dst: usize) -> Result<Work<'a, Vec<O>>>
    where
        I: Readable + 'a,
        O: Writable<Element = I::Element> + 'a,
    {
        let (input, mut outputs) = (Borrowed::new(input), Borrowed::new(outputs));
        let dst = c_int(dst, "dst")?;
        let call = calls::gather(Some(input.reading()), outputs.writing_each(), dst);
        self.begin(call, move |_| give_back(outputs, input))
    }

    /// See [`Group::gather_in_place`](crate::Group::gather_in_place).
    pub fn gather_in_place<B>(&self, outputs: Vec<B>, dst: usize) -> Result<Work<'a, Vec<B>>>
    where
        B: Writable + 'a,
    {
        let mut outputs = Borrowed::new(outputs);
        let call = calls::gather(None, outputs.writing_each(), c_int(dst, "dst")?);
        self.begin(call, move |_| Ok(outputs.give_back()))
    }

    /// See [`Group::scatter`](crate::Group::scatter); gives back the output.
    pub fn scatter<I, O>(&self, inputs: Vec<I>, output: O, src: usize) -> Result<Work<'a, O>>
    where
        I: Readable + 'a,
        O: Writable<Element = I::Element> + 'a,
    {
        let (inputs, mut output) = (Borrowed::new(inputs), Borrowed::new(output));
        let src = c_int(src, "src")?;
        let call = calls::scatter(inputs.reading_each(), Some(output.writing()), src);
        self.begin(call, move |_| give_back(output, inputs))
    }

    /// See [`Group::scatter_in_place`](crate::Group::scatter_in_place).
    pub fn scatter_in_place<B>(&self, inputs: Vec<B>, src: usize) -> Result<Work<'a, Vec<B>>>
    where
        B: Readable + 'a,
    {
        let inputs = Borrowed::new(inputs);
        let call = calls::scatter(inputs.reading_each(), None, c_int(src, "src")?);
        self.begin(call, move |_| Ok(inputs.give_back()))
    }

    /// See [`Group::reduce_scatter`](crate::Group::reduce_scatter); gives back the output.
    pub fn reduce_scatter<I, O>(
        &self,
        inputs: Vec<I>,
        output: O,
        op: impl Into<Operator>,
    ) -> Result<Work<'a, O>>
    where
        I: Readable + 'a,
        O: Writable<Element = I::Element> + 'a,
    {
        let (inputs, mut output, op) = (Borrowed::new(inputs), Borrowed::new(output), op.into());
        let list = inputs.reading_each();
        let call = calls::reduce_scatter(list, output.writing(), op.number());
        self.begin(call, move |_| give_back(output, (inputs, op)))
    }

    /// See [`Group::reduce_scatter_tensor`](crate::Group::reduce_scatter_tensor); gives back the
    /// output.
    pub fn reduce_scatter_tensor<I, O>(
        &self,
        input: I,
        output: O,
        op: impl Into<Operator>,
    ) -> Result<Work<'a, O>>
    where
        I: Readable + 'a,
        O: Writable<Element = I::Element> + 'a,
    {
        let (input, mut output, op) = (Borrowed::new(input), Borrowed::new(output), op.into());
        let call = calls::reduce_scatter_tensor(input.reading(), output.writing(), op.number());
        self.begin(call, move |_| give_back(output, (input, op)))
    }

    /// See [`Group::all_to_all`](crate::Group::all_to_all); gives back the outputs.
    pub fn all_to_all<I, O>(&self, inputs: Vec<I>, outputs: Vec<O>) -> Result<Work<'a, Vec<O>>>
    where
        I: Readable + 'a,
        O: Writable<Element = I::Element> + 'a,
    {
        let (inputs, mut outputs) = (Borrowed::new(inputs), Borrowed::new(outputs));
        let call = calls::all_to_all(inputs.reading_each(), outputs.writing_each());
        self.begin(call, move |_| give_back(outputs, inputs))
    }

    /// See [`Group::all_to_all_in_place`](crate::Group::all_to_all_in_place).
    pub fn all_to_all_in_place<B>(&self, outputs: Vec<B>) -> Result<Work<'a, Vec<B>>>
    where
        B: Writable + 'a,
    {
        let mut outputs = Borrowed::new(outputs);
        let call = calls::all_to_all(Vec::new(), outputs.writing_each());
        self.begin(call, move |_| Ok(outputs.give_back()))
    }

    /// See [`Group::all_to_all_single`](crate::Group::all_to_all_single); gives back the output.
    pub fn all_to_all_single<I, O>(&self, input: I, output: O) -> Result<Work<'a, O>>
    where
        I: Readable + 'a,
        O: Writable<Element = I::Element> + 'a,
    {
        self.all_to_all_pieces(input, None, output, None)
    }

    /// See [`Group::all_to_all_single_with_splits`](crate::Group::all_to_all_single_with_splits);
    /// gives back the output.
    pub fn all_to_all_single_with_splits<I, O>(
        &self,
        input: I,
        input_splits: &[usize],
        output: O,
        output_splits: &[usize],
    ) -> Result<Work<'a, O>>
    where
        I: Readable + 'a,
        O: Writable<Element = I::Element> + 'a,
    {
        self.all_to_all_pieces(input, Some(input_splits), output, Some(output_splits))
    }

    /// See [`Group::all_to_all_single_in_place`](crate::Group::all_to_all_single_in_place).
    pub fn all_to_all_single_in_place<B>(&self, output: B) -> Result<Work<'a, B>>
    where
        B: Writable + 'a,
    {
        let mut output = Borrowed::new(output);
        let call = calls::all_to_all_single(None, None, output.writing(), None);
        self.begin(call, move |_| Ok(output.give_back()))
    }

    fn all_to_all_pieces<I, O>(
        &self,
        input: I,
        input_splits: Option<&[usize]>,
        output: O,
        output_splits: Option<&[usize]>,
    ) -> Result<Work<'a, O>>
    where
        I: Readable + 'a,
        O: Writable<Element = I::Element> + 'a,
    {
        let (input, mut output) = (Borrowed::new(input), Borrowed::new(output));
        let (from, into) = (calls::splits(input_splits), calls::splits(output_splits));
        let call = calls::all_to_all_single(Some(input.reading()), from, output.writing(), into);
        self.begin(call, move |_| give_back(output, input))
    }

    /// See [`Group::barrier`](crate::Group::barrier).
    pub fn barrier(&self) -> Result<Work<'a, ()>> {
        self.begin(calls::barrier(), |_| Ok(()))
    }
}

/// The arguments of an operation, without what was only kept for it.
pub(crate) fn give_back<B, K>(data: Borrowed<B>, kept: K) -> Result<B> {
    drop(kept);
    Ok(data.give_back())
}
