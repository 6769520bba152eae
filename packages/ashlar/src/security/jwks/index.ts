export { RemoteKeys } from "./remote-keys.ts";
