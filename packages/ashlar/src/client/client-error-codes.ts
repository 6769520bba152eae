/** The codes of the client itself; all other codes of errors come from the server. */
interface OwnCodes {
  /**
   * No response: there is no connection, the server is down, or the browser doesn't let the page read the response
   * (CORS).
   */
  E_NETWORK: 0;
  /** No complete response within `timeoutMs`. */
  E_TIMEOUT: 0;
  /** The response isn't from the application but, for example, from a proxy. `status` is the response's status. */
  E_INVALID_RESPONSE: number;
  /** The token store could not be read. */
  E_STORAGE: 0;
  /** The request's token is no longer valid, and the store now contains another login's tokens. */
  E_LOGIN_CHANGED: 401;
}

/** The codes that Ashlar responds with. Clients get `E_INTERNAL` for other errors with status 500. */
interface ServerCodes {
  E_ADDRESS_TAKEN: 409;
  E_BAD_REQUEST: 400;
  E_CONFLICTING_TOKENS: 400;
  E_CSRF: 419;
  E_DATABASE_BUSY: 503;
  E_DATABASE_CONFLICT: 503;
  E_DATABASE_DAMAGED: 503;
  E_DATABASE_FULL: 503;
  E_DATABASE_READ_ONLY: 503;
  E_DATABASE_UNAVAILABLE: 503;
  E_DISK_FULL: 503;
  E_FORBIDDEN: 403;
  E_FOREIGN_KEY_VIOLATION: 409;
  E_INSUFFICIENT_AUTHENTICATION: 401;
  E_INSUFFICIENT_SCOPE: 403;
  E_INTERNAL: 500;
  E_INVALID_BODY: 400;
  E_INVALID_CREDENTIALS: 401;
  E_INVALID_INPUT: 422;
  E_INVALID_LINK: 410;
  E_INVALID_PASSWORD: 422;
  E_INVALID_SIGNATURE: 403;
  E_INVALID_TOKEN: 401;
  E_ISSUER_UNAVAILABLE: 503;
  E_JWT_INVALID: 401;
  E_LOGIN_PENDING: 401;
  E_LOGIN_REFUSED: 403;
  E_MAIL_NOT_SENT: 503;
  E_METHOD_NOT_ALLOWED: 405;
  E_NOT_ACCEPTABLE: 406;
  E_NOT_FOUND: 404;
  E_OVERLOADED: 503;
  E_PASSWORD_NOT_CONFIRMED: 403;
  E_PAYLOAD_TOO_LARGE: 413;
  E_REDIS_UNAVAILABLE: 503;
  E_ROW_NOT_FOUND: 404;
  E_SHUTTING_DOWN: 503;
  E_STALE_PROOF: 401;
  E_TOO_MANY_REQUESTS: 429;
  E_TWO_FACTOR_REQUIRED: 403;
  E_TWO_FACTOR_SETUP_REQUIRED: 403;
  E_UNAUTHENTICATED: 401;
  E_UNIQUE_VIOLATION: 409;
  E_UNSUPPORTED_MEDIA_TYPE: 415;
}

/**
 * The codes of a `ClientError`, each with its HTTP status; 0 if there is no response. To use your application's codes
 * in a `switch`, declare them:
 *
 * ```ts
 * declare module "ashlar/client" { interface ClientErrorCodes { E_ORDER_CLOSED: 409 } }
 * ```
 */
export interface ClientErrorCodes extends OwnCodes, ServerCodes {}
