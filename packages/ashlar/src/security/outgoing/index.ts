export { type FetchLimits, limitedRequest } from "./limited-request.ts";
export { isPublicAddress, publicLookup, requirePublicHost } from "./public-addresses.ts";
