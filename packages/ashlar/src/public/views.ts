export { type View, ViewProvider, type Views } from "../views/index.ts";
