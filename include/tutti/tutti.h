/* tutti/tutti.h: all of tutti. */
#ifndef TUTTI_H
#define TUTTI_H

#include <tutti/bytes.h>
#include <tutti/collectives.h>
#include <tutti/debug.h>
#include <tutti/dlpack.h>
#include <tutti/error.h>
#include <tutti/failure.h>
#include <tutti/group.h>
#include <tutti/hooks.h>
#include <tutti/log.h>
#include <tutti/memory.h>
#include <tutti/mesh.h>
#include <tutti/multigpu.h>
#include <tutti/object.h>
#include <tutti/object_collectives.h>
#include <tutti/object_point_to_point.h>
#include <tutti/point_to_point.h>
#include <tutti/reduce_op.h>
#include <tutti/reducer.h>
#include <tutti/spawn.h>
#include <tutti/store.h>
#include <tutti/types.h>
#include <tutti/version.h>
#include <tutti/work.h>

#endif
