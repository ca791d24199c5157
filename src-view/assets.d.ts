// What the bundler makes of files that are not code: the page's style sheet, and an asset's address.
declare module "*.css";
declare module "*.svg" {
  const address: string;
  // biome-ignore lint/style/noDefaultExport: the form the bundler gives
  export default address;
}
