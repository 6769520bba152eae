export { View } from "./view.ts";
export { ViewProvider } from "./view-provider.ts";
export { Views } from "./views.ts";
