/** The suites of `npm test` in their order. A suite that takes longer than its budget fails. */
export const suites: readonly {
  readonly name: string;
  readonly budgetSeconds: number;
  readonly files: readonly string[];
}[] = [
  { name: "project", budgetSeconds: 30, files: ["test/layers.test.ts", "test/support"] },
  { name: "setup", budgetSeconds: 90, files: ["test/setup"] },
  { name: "platform", budgetSeconds: 30, files: ["test/platform"] },
  { name: "storage", budgetSeconds: 90, files: ["test/storage"] },
  { name: "cache", budgetSeconds: 60, files: ["test/cache"] },
  { name: "mlx and model", budgetSeconds: 180, files: ["test/mlx", "test/model"] },
  { name: "hostile files", budgetSeconds: 120, files: ["test/hostile"] },
  { name: "engine", budgetSeconds: 420, files: ["test/engine"] },
  { name: "server and host", budgetSeconds: 90, files: ["test/server", "test/host/", "test/data"] },
  { name: "view", budgetSeconds: 60, files: ["test/view"] },
  { name: "end to end", budgetSeconds: 420, files: ["test/e2e"] },
];
