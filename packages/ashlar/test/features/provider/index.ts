export { ExampleSiteController } from "./example-site-controller.ts";
export { ExampleSiteProvider } from "./example-site-provider.ts";
export { Identities } from "./identities.ts";
export { IdentitiesController } from "./identities-controller.ts";
