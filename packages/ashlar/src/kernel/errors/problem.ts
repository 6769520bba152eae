import { STATUS_CODES } from "node:http";
import { type AshlarError, ERRORS, type ErrorCode } from "../../support/index.ts";

/** What a caller is told of a failure: the members of a problem document (RFC 9457 §3.1) and the error's code. */
export interface Problem {
  readonly type: "about:blank";
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly [extension: string]: unknown;
}

/** The name of a status, such as `Not Found`. */
export function statusTitle(status: number): string {
  return STATUS_CODES[status] ?? (status === 419 ? "Page Expired" : "Error");
}

/**
 * What a caller may know of an error: below 500 all that it says; from 500 on, nothing but the status and its
 * general sentence.
 */
export function problemOf(error: AshlarError): Problem {
  const { status } = error;
  const base = { type: "about:blank", title: statusTitle(status), status } as const;
  if (status < 500) return { ...error.extensions, ...base, detail: error.message, code: error.code };
  const code = status === 500 ? "E_INTERNAL" : error.code;
  return { ...base, detail: ERRORS[code][1], code };
}
