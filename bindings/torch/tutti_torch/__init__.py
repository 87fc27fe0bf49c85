"""The backend "tutti" of torch.distributed.

    torch.distributed.init_process_group("tutti")

finds it by its entry point. Versions of PyTorch that look for none want "import tutti_torch" first.
"""

import torch.distributed as dist

from ._native import Options, create

__all__ = ["Options", "register"]


def _create(given, pg_options):
    if pg_options is not None and not isinstance(pg_options, Options):
        raise TypeError(
            f"pg_options of backend tutti are tutti_torch.Options, not {type(pg_options).__name__}"
        )
    # The group of all ranks has no list of them.
    name = given.group_id if given.global_ranks_in_group else "world"
    group = getattr(given, "process_group", None)  # older versions do not say
    device = getattr(group, "bound_device_id", None)
    return create(
        given.store, name, given.group_rank, given.group_size, given.timeout, device, pg_options
    )


def register():
    """Makes torch.distributed know the backend. More calls do nothing."""
    if "TUTTI" not in dist.Backend._plugins:
        dist.Backend.register_backend("tutti", _create, extended_api=True, devices=["cpu", "cuda"])


register()
