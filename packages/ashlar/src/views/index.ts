export { View } from "./view.ts";
export { ViewProvider } from "./view-provider.ts";
export { Views, type ViewsOptions } from "./views.ts";
