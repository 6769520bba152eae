export { ViewProvider } from "./view-provider.ts";
export { View, Views } from "./views.ts";
