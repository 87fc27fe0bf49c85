// The one description of tutti for SWIG: the public headers as they are, and how each language
// passes what C passes. Go and Java take what SWIG writes from it; for Rust, Julia and Fortran the
// generators read the tree that `swig -xml` writes (generator/).
//
// Options of every use: -DSWIGWORDSIZE64 -w451 -I../include
%module tutti

%{
#include <tutti/tutti.h>
%}

#if defined(SWIGGO)
%include "go/typemaps.i"
#elif defined(SWIGJAVA)
%include "java/typemaps.i"
#else
%include <stdint.i>
typedef unsigned long size_t;
#endif

%include <tutti/types.h>
%include <tutti/error.h>
%include <tutti/bytes.h>
%include <tutti/version.h>
%include <tutti/debug.h>
%include <tutti/dlpack.h>
%include <tutti/log.h>
%include <tutti/store.h>
%include <tutti/reduce_op.h>
%include <tutti/work.h>
%include <tutti/group.h>
%include <tutti/collectives.h>
%include <tutti/point_to_point.h>
%include <tutti/failure.h>
%include <tutti/hooks.h>
%include <tutti/memory.h>
%include <tutti/mesh.h>
%include <tutti/multigpu.h>
%include <tutti/object.h>
%include <tutti/object_collectives.h>
%include <tutti/object_point_to_point.h>
%include <tutti/reducer.h>
%include <tutti/spawn.h>
