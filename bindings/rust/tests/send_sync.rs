//! Types that may go to another thread or be shared with one, both ways: this is compiled or
//! it is not.
use tutti::{
    Bucket, Buffer, Bytes, CustomOp, DeviceBuffer, DeviceSlice, Error, Finishing, Gradient, Group,
    Map, Mesh, Node, Object, ObjectBuilder, Operator, Pass, Reducer, Scope, Spawned, Start, Store,
    Value, Work,
};

const fn send<T: Send>() {}
const fn sync<T: Sync>() {}

/// Compiles only if the type does not have the trait: if it does, there are two answers to which
/// function is meant.
macro_rules! is_not {
    ($trait:ident: $($kind:ty),*) => {$(
        const _: fn() = || {
            trait Ambiguous<Marker> {
                fn answer() {}
            }
            impl<T: ?Sized> Ambiguous<()> for T {}
            struct Other;
            impl<T: ?Sized + $trait> Ambiguous<Other> for T {}
            let _ = <$kind as Ambiguous<_>>::answer;
        };
    )*};
}

is_not!(Send: Spawned);
is_not!(Sync: Spawned);

#[test]
fn handles_go_to_any_thread_and_are_shared() {
    send::<(Store, Group, Mesh, Bytes, Object, ObjectBuilder, CustomOp, Operator, Value, Map)>();
    sync::<(Store, Group, Mesh, Bytes, Object, ObjectBuilder, CustomOp, Operator, Value, Map)>();
    send::<(Buffer<f32>, Work<'static, Buffer<f32>>)>();
    sync::<(Buffer<f32>, Work<'static, Buffer<f32>>)>();
    send::<(DeviceSlice<f32>, DeviceBuffer<f32>, Work<'static, DeviceSlice<f32>>)>();
    sync::<(DeviceSlice<f32>, DeviceBuffer<f32>, Work<'static, DeviceSlice<f32>>)>();
    send::<(Reducer, Pass<'_, '_>, Gradient<'_, f32>, Finishing<'_, '_>, Bucket<'_>)>();
    sync::<(Reducer, Pass<'_, '_>, Gradient<'_, f32>, Finishing<'_, '_>, Bucket<'_>)>();
    send::<(Error, Node<'_>, Scope<'_, '_>, Start<'_>)>();
    sync::<(Error, Node<'_>, Scope<'_, '_>, Start<'_>)>();
    send::<(Work<'static, Vec<f32>>, Work<'_, &mut [f32]>, Work<'_, ()>)>();
    sync::<(Work<'static, Vec<f32>>, Work<'_, &mut [f32]>, Work<'_, ()>)>();
}
