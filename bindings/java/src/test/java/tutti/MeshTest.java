package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.util.List;
import org.junit.jupiter.api.Test;

class MeshTest {
    private static void same(Group one, Group other) {
        assertArrayEquals(one.processGroupRanks(), other.processGroupRanks());
        assertEquals(one.name(), other.name());
    }

    @Test
    void a_mesh_has_rows_and_columns() {
        Ranks.run(6, group -> {
            int rank = group.rank();
            try (Mesh mesh = Mesh.init(group, DeviceType.CPU, new int[] {2, 3},
                                       new String[] {"row", "column"}, null)) {
                assertEquals(2, mesh.ndim());
                assertEquals(6, mesh.size());
                assertEquals(3, mesh.size(1));
                assertEquals(-1, mesh.size(2));
                assertArrayEquals(new int[] {2, 3}, mesh.shape());
                assertArrayEquals(new int[] {0, 1, 2, 3, 4, 5}, mesh.ranks());
                assertArrayEquals(new int[] {rank / 3, rank % 3}, mesh.getCoordinate());
                assertEquals(rank, mesh.getRank());
                assertEquals("column", mesh.dimName(1));
                assertEquals(rank % 3, mesh.getLocalRank("column"));
                assertEquals(rank / 3, mesh.getLocalRank(0));
                double[] sum = {rank};
                mesh.getGroup("column").allReduce(Tensor.of(sum), ReduceOp.SUM);
                assertEquals(rank < 3 ? 3 : 12, sum[0]);
                same(mesh.getGroup(1), mesh.getGroup("column"));
                assertEquals(2, mesh.getAllGroups().size());
                assertThrows(UsageException.class, mesh::getGroup);
                assertThrows(UsageException.class, () -> mesh.getGroup("depth"));
                slicesAndFlattens(mesh, rank);
            }
        });
    }

    private static void slicesAndFlattens(Mesh mesh, int rank) {
        try (Mesh row = mesh.slice("column")) {
            assertEquals(1, row.ndim());
            assertEquals(rank % 3, row.getLocalRank());
            same(mesh.getGroup("column"), row.getGroup());
        }
        try (Mesh flat = mesh.flatten("all", null)) {
            assertArrayEquals(new int[] {6}, flat.shape());
            same(flat.getGroup(), mesh.getGroup("all"));
            double[] sum = {1};
            flat.getGroup().allReduce(Tensor.of(sum), ReduceOp.SUM);
            assertEquals(6, sum[0]);
        }
    }

    @Test
    void closing_a_meshs_group_leaves_it_to_the_mesh() {
        Ranks.run(2, group -> {
            try (Mesh mesh = Mesh.init(group, DeviceType.CPU, new int[] {2}, null, null)) {
                Group first = mesh.getGroup();
                first.barrier();
                first.close();
                assertThrows(UsageException.class, first::barrier);
                mesh.getGroup(0).barrier();
                assertNull(mesh.dimName(0));
            }
        });
    }

    @Test
    void a_mesh_is_made_of_groups() {
        Ranks.run(2, group -> {
            try (Mesh mesh = Mesh.fromGroup(List.of(group), DeviceType.CPU, null, null, "all")) {
                assertArrayEquals(new int[] {0, 1}, mesh.ranks());
                assertEquals(2, mesh.getGroup("all").size());
            }
            try (Mesh mesh = Mesh.fromGroup(List.of(group), DeviceType.CPU, new int[] {0, 1},
                                            new int[] {2})) {
                assertArrayEquals(new int[] {2}, mesh.shape());
            }
            GroupOptions exact = new GroupOptions().reproducible(true);
            try (Mesh mesh = Mesh.fromGroup(List.of(group), DeviceType.CPU, null, null,
                                            new String[] {"all"}, exact);
                 Mesh flat = mesh.flatten("flat", null)) {
                assertEquals(1, flat.ndim());
            }
        });
    }

    @Test
    void a_rank_without_a_place_is_no_member() {
        Ranks.run(3, group -> {
            try (Mesh mesh = Mesh.init(group, DeviceType.CPU, new int[] {2}, null, null)) {
                boolean in = group.rank() < 2;
                assertEquals(in, mesh.getCoordinate() != null);
                assertEquals(in, mesh.getGroup().isMember());
                assertEquals(in ? group.rank() : -1, mesh.getLocalRank());
                if (!in) assertThrows(UsageException.class, () -> mesh.getGroup().barrier());
            }
        });
    }

    @Test
    void a_mesh_has_any_layout() {
        Ranks.run(4, group -> {
            try (Mesh mesh = Mesh.create(group, DeviceType.CPU, new int[] {3, 1, 0, 2},
                                         new int[] {2, 2}, new String[] {"a", "b"}, null)) {
                int[][] places = {{1, 0}, {0, 1}, {1, 1}, {0, 0}};
                int[] place = places[group.rank()];
                assertArrayEquals(place, mesh.getCoordinate());
                assertEquals(place[1], mesh.getGroup("b").rank());
                assertEquals(1, mesh.findDim("b"));
                assertEquals(DeviceType.CPU, mesh.deviceType());
                assertThrows(UsageException.class, () -> mesh.getGroup("c"));
            }
            group.barrier();
        });
    }

    @Test
    void bad_arguments_are_named() {
        Ranks.run(1, group -> {
            assertThrows(UsageException.class,
                () -> Mesh.init(group, DeviceType.CPU, new int[] {1},
                                new String[] {"a", "b"}, null));
            assertThrows(UsageException.class,
                () -> Mesh.init(group, DeviceType.CPU, new int[] {2}, null, null));
            UsageException gpu = assertThrows(UsageException.class,
                () -> Mesh.init(group, DeviceType.XPU, new int[] {1}, null, null));
            assertTrue(gpu.getMessage().contains("device"), gpu.getMessage());
            assertThrows(UsageException.class,
                () -> Mesh.init(group, DeviceType.CPU, new int[0], null, null));
            assertThrows(UsageException.class, () -> Mesh.fromGroup(
                    List.of(group), DeviceType.CPU, new int[] {0, 1}, new int[] {1}));
            assertThrows(UsageException.class,
                () -> Mesh.fromGroup(List.of(group), DeviceType.CPU, null, new int[] {1}));
            Mesh mesh = Mesh.init(group, DeviceType.CPU, new int[] {1}, null, null);
            mesh.close();
            assertThrows(UsageException.class, mesh::ndim);
        });
    }
}
