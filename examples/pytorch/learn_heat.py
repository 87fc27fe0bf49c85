"""Learns from a simulation in Fortran, heat.f90, how heat spreads, while that runs.

This is rank 0 of torch.distributed; all other ranks are the simulation's, and send a strip of the
plate after each step. README.md says how to start both.
"""

import torch
import torch.distributed as dist
import tutti_torch  # PyTorch before 2.14 does not find the backend by itself

report_every = 50


def receive(field):
    """Fills a field with the strips of all ranks of the simulation."""
    for rank, strip in enumerate(field.tensor_split(dist.get_world_size() - 1), 1):
        dist.recv(strip, rank)


def main():
    dist.init_process_group("tutti")
    sizes = torch.zeros(3, dtype=torch.int32)
    dist.broadcast(sizes, src=1)
    plates, steps, cells = sizes.tolist()

    # What a cell has next depends on it and its neighbours: nine weights, the same for all cells.
    torch.manual_seed(1)
    model = torch.nn.Conv2d(1, 1, kernel_size=3, padding=1, bias=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    film = torch.empty(steps, 1, cells, cells)
    checksum = 0
    for plate in range(1, plates + 1):
        for field in film:
            receive(field[0])
        loss = torch.nn.functional.mse_loss(model(film[:-1]), film[1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        checksum += film.view(torch.int32).sum(dtype=torch.int64).item()
        if plate == 1 or plate % report_every == 0:
            print(f"plate {plate:3}: loss {loss.item():.3g}", flush=True)

    weights = model.weight.detach()
    dist.broadcast(weights, src=0)
    print("learned, with the grain from top to bottom:")
    for row in weights[0, 0].tolist():
        print("  " + " ".join(f"{round(share, 4) + 0:7.4f}" for share in row))
    print(f"trainer: checksum of all fields {checksum}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
