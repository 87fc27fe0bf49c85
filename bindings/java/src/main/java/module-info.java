/** Collective communication: torch.distributed's model for programs in Java. */
module tutti {
    exports tutti;
}
