import { declareErrors, type StatusesOf } from "../support/index.ts";

const CODES = {
  E_BAD_REQUEST: [400, "The request is malformed."],
  E_INVALID_BODY: [400, "The body of the request could not be parsed."],
  E_UNAUTHENTICATED: [401, "Authentication is required."],
  E_FORBIDDEN: [403, "You may not do this."],
  E_NOT_FOUND: [404, "The page or resource was not found."],
  E_METHOD_NOT_ALLOWED: [405, "This method is not allowed here."],
  E_NOT_ACCEPTABLE: [406, "No acceptable representation is available."],
  E_PAYLOAD_TOO_LARGE: [413, "The body of the request is too large."],
  E_UNSUPPORTED_MEDIA_TYPE: [415, "The type of the request's body is not supported."],
  E_TOO_MANY_REQUESTS: [429, "Too many requests."],
  E_SHUTTING_DOWN: [503, "The server is shutting down."],
  E_INVALID_HEADER: [500, "A header's name or value holds characters that are not allowed."],
  E_INVALID_COOKIE: [500, "A cookie's name, value or attributes are not valid."],
  E_INVALID_REDIRECT: [500, "The address to redirect to is not allowed."],
  E_UNSERIALIZABLE_RESULT: [500, "What the handler returned cannot be turned into a response."],
  E_FILE_EXISTS: [500, "A file already exists there."],
  E_DISK_FULL: [503, "There is no room for what you sent; try again later."],
} as const;

declare module "../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof CODES> {}
}

declareErrors(CODES);
