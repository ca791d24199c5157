/** Slow suites have a size for each commit and a large one for releases. */
export const isSizeRelease = process.env["KEEPWARM_TEST_SIZE"] === "release";
