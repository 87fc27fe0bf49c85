//! Messages between two ranks.
use crate::calls::{self, c_source};
use crate::element::Element;
use crate::error::{c_int, Result};
use crate::group::{Call, Group};
use crate::memory::{reading, writing, Borrowed, CBuffer, Readable, Writable};
use crate::raw;
use crate::start::Start;
use crate::work::Work;
use std::ptr::null_mut;

/// The sender of a message that is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Any rank but this one.
    Any,
    /// This group rank.
    Rank(usize),
}

impl From<usize> for Source {
    fn from(rank: usize) -> Source {
        Source::Rank(rank)
    }
}

/// One message of a batch.
#[derive(Debug)]
pub enum P2pOp<B> {
    /// One to send.
    Isend {
        /// The data to send.
        data: B,
        /// The group rank of the receiver; oneself is allowed.
        dst: usize,
        /// 0 or more.
        tag: usize,
    },
    /// One to receive.
    Irecv {
        /// The place it is received into.
        data: B,
        /// The sender; oneself is allowed.
        src: Source,
        /// 0 or more.
        tag: usize,
    },
}

impl Group {
    /// Sends a message to a rank, which receives it with [`Group::recv`] and the same tag. Waits
    /// for the receiver: ranks that all send first and receive then need [`Group::start`].
    pub fn send<T: Element>(&self, data: &[T], dst: usize, tag: usize) -> Result<()> {
        let (dst, tag) = (c_int(dst, "dst")?, c_int(tag, "tag")?);
        self.call(calls::send(reading(data), dst, tag), null_mut())
    }

    /// Receives a message of this length and type, from a rank or from [`Source::Any`], and returns
    /// the sender's rank.
    pub fn recv<T: Element>(
        &self,
        data: &mut [T],
        src: impl Into<Source>,
        tag: usize,
    ) -> Result<usize> {
        let (src, tag, mut from) = (c_source(src.into())?, c_int(tag, "tag")?, -1);
        self.call(calls::recv(writing(data), src, tag, &mut from), null_mut())?;
        Ok(from as usize)
    }

    /// Starts several sends and receives, waits for all, and gives back their memory in their
    /// order; the first failure is the result.
    pub fn batch_isend_irecv<B: Writable>(&self, ops: Vec<P2pOp<B>>) -> Result<Vec<B>> {
        let (ops, held) = batch(ops)?;
        self.call(|call| start_batch(call, &ops, null_mut()), null_mut())?;
        Ok(held.into_iter().map(Borrowed::give_back).collect())
    }
}

impl<'a> Start<'a> {
    /// Sends a message while the caller goes on (torch: `isend`); see [`Group::send`].
    pub fn send<B: Readable + 'a>(&self, data: B, dst: usize, tag: usize) -> Result<Work<'a, B>> {
        self.need_at_once()?;
        let data = Borrowed::new(data);
        let call = calls::send(data.reading(), c_int(dst, "dst")?, c_int(tag, "tag")?);
        self.begin(call, move |_| Ok(data.give_back()))
    }

    /// Receives a message while the caller goes on (torch: `irecv`); see [`Group::recv`]. Who sent
    /// it, [`Work::source_rank`] tells.
    pub fn recv<B: Writable + 'a>(
        &self,
        data: B,
        src: impl Into<Source>,
        tag: usize,
    ) -> Result<Work<'a, B>> {
        self.need_at_once()?;
        let mut data = Borrowed::new(data);
        let (src, tag) = (c_source(src.into())?, c_int(tag, "tag")?);
        let call = calls::recv(data.writing(), src, tag, null_mut());
        self.begin(call, move |_| Ok(data.give_back()))
    }

    /// Starts several sends and receives, in their order, with a work each.
    pub fn batch_isend_irecv<B: Writable + 'a>(
        &self,
        ops: Vec<P2pOp<B>>,
    ) -> Result<Vec<Work<'a, B>>> {
        self.need_at_once()?;
        let (ops, held) = batch(ops)?;
        let mut works = vec![null_mut(); ops.len()];
        let place = if works.is_empty() { null_mut() } else { works.as_mut_ptr() };
        self.group().call(|call| start_batch(call, &ops, place), null_mut())?;
        let started = works.into_iter().zip(held);
        Ok(started.map(|(work, held)| self.started(work, |_| Ok(held.give_back()))).collect())
    }
}

fn start_batch(
    call: &Call,
    ops: &[raw::tutti_p2p_op],
    works: *mut *mut raw::tutti_work,
) -> raw::Status {
    unsafe {
        let (list, count) = (ops.as_ptr(), ops.len() as i64);
        raw::tutti_batch_isend_irecv(call.group, list, count, call.options, works, call.error)
    }
}

/// The messages as C has them, and their memory.
fn batch<B: Writable>(ops: Vec<P2pOp<B>>) -> Result<(Vec<raw::tutti_p2p_op>, Vec<Borrowed<B>>)> {
    let mut list = Vec::with_capacity(ops.len());
    let mut held = Vec::with_capacity(ops.len());
    for (index, op) in ops.into_iter().enumerate() {
        let name = |field| format!("ops[{index}].{field}");
        let (kind, data, peer, tag) = match op {
            P2pOp::Isend { data, dst, tag } => {
                (raw::P2pKind::ISEND, data, c_int(dst, &name("dst"))?, tag)
            }
            P2pOp::Irecv { data, src, tag } => (raw::P2pKind::IRECV, data, c_source(src)?, tag),
        };
        let mut data = Borrowed::new(data);
        list.push(message(kind, data.writing(), peer, c_int(tag, &name("tag"))?));
        held.push(data);
    }
    Ok((list, held))
}

fn message(kind: raw::P2pKind, buffer: CBuffer, peer: i32, tag: i32) -> raw::tutti_p2p_op {
    raw::tutti_p2p_op { kind, group_peer: peer, tag, reserved_0: 0, buffer, reserved: [0; 2] }
}
