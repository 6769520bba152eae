import { type HttpContext, truncatedAddress } from "../../http/index.ts";
import type { Logger } from "../logger.ts";
import type { AbortReason } from "../requests/served-request.ts";
import type { LoggablePaths } from "./loggable-path.ts";

/** How a request ended. */
export interface RequestEnd {
  /** The status of the response; `null` if there wasn't one. */
  readonly status: number | null;
  /** Why the client didn't receive the complete response; `null` if it did. */
  readonly aborted: AbortReason | null;
  /** How long the request took, in milliseconds. */
  readonly durationMs: number;
  /**
   * The length of the body that the client received, without headers; `null` if it is not known, as with most streams.
   */
  readonly bytes: number | null;
}

/** Logs one line for each request: what was requested, by whom, the status, and the duration. */
export class RequestLog {
  readonly #logger: Logger;
  readonly #paths: LoggablePaths;
  readonly #addresses: AddressDetail;

  constructor(logger: Logger, paths: LoggablePaths, addresses: AddressDetail) {
    this.#logger = logger;
    this.#paths = paths;
    this.#addresses = addresses;
  }

  write(context: HttpContext, { status, aborted, durationMs, bytes }: RequestEnd): void {
    const { request } = context;
    const route = request.route();
    const userId = userIdOf(context);
    const address = this.#addresses === "none" ? null : loggedAddress(request.clientAddress, this.#addresses);
    this.#logger.info(
      {
        method: request.raw.method,
        path: this.#paths.of(context),
        ...(route !== null && { route: route.pattern }),
        status,
        durationMs: Math.round(durationMs * 100) / 100,
        ...(bytes !== null && { bytes }),
        ...(userId !== null && { userId }),
        ...(address !== null && { address }),
        requestId: request.id,
        ...(aborted !== null && { aborted }),
      },
      "request",
    );
  }
}

/** The primary key of a request's user, as text; `null` for a guest. */
export function userIdOf(context: HttpContext): string | null {
  return userKey(context.currentUser) ?? context.provenUserId;
}

/** The primary key of a user of any class that can log in, as text; `null` for anything else. */
export function userKey(user: object | null): string | null {
  const { authId } = (user ?? {}) as { readonly authId?: () => unknown };
  return typeof authId === "function" ? String(authId.call(user)) : null;
}

/** How much of a client's address is logged: all of it, its network, or nothing. */
export const ADDRESS_DETAILS = ["full", "truncated", "none"] as const;

/** See {@link ADDRESS_DETAILS}. */
export type AddressDetail = (typeof ADDRESS_DETAILS)[number];

/** Returns the part of a client's address to log; `null` if nothing is logged or the address is unknown. */
export function loggedAddress(address: string | null, detail: AddressDetail): string | null {
  if (address === null || detail === "none") return null;
  return detail === "full" ? address : truncatedAddress(address);
}
