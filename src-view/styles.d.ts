// The bundler turns these imports into the page's style sheet.
declare module "*.css";
