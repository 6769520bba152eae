import { STATUS_CODES } from "node:http";
import type { Catalogue, Sentences } from "../../messages/index.ts";
import { ERRORS, type ErrorCode, type Message } from "../../support/index.ts";

/** The headings of pages. Problem documents have the names of the statuses instead (RFC 9457 §4.2.1). */
const TITLES: Readonly<Record<number, string>> = {
  400: "The request can't be read",
  401: "Log in to continue",
  403: "Not allowed",
  404: "Page not found",
  405: "This page can't be opened this way",
  410: "No longer here",
  413: "Too much at once",
  419: "This form was not accepted",
  422: "There is a problem",
  429: "Wait a moment",
  500: "Something went wrong",
  503: "Not available right now",
};

/** What a page says if the error says no more than its code. */
const MESSAGES: Partial<Record<ErrorCode, string>> = {
  E_UNAUTHENTICATED: "This is only for users who are logged in.",
  E_FORBIDDEN: "You don't have permission to do this.",
  E_NOT_FOUND: "There is no page at this address. Check it for typos, or start from the home page.",
  E_ROW_NOT_FOUND: "What this page was about is not here. It may have been deleted.",
  E_METHOD_NOT_ALLOWED: "Go back, and use the link or the button that leads here.",
  E_PAYLOAD_TOO_LARGE: "What you sent is too large. Go back, and send less or a smaller file.",
  E_TOO_MANY_REQUESTS: "There were too many requests. Try again later.",
  E_INTERNAL: "It wasn't your fault. Try again in a moment.",
};

const message = (rule: string, sentence: string): Message => ({ rule, params: {}, message: sentence });

/** The name of a status, such as `Not Found`. */
export function statusTitle(status: number): Message {
  return message(`errors.status.${status}`, STATUS_CODES[status] ?? (status === 419 ? "Page Expired" : "Error"));
}

/** The sentence of an error's code. */
export function codeSentence(code: ErrorCode): Message {
  return message(`errors.${code}`, ERRORS[code][1]);
}

/** The heading of the page of errors with a status. */
export function pageTitle(status: number): Message {
  const title = TITLES[status];
  return title === undefined ? statusTitle(status) : message(`errors.title.${status}`, title);
}

/** What the page of an error says if the error says no more than its code; `null` if that is enough. */
export function pageMessage(code: ErrorCode): Message | null {
  const sentence = MESSAGES[code];
  return sentence === undefined ? null : message(`errors.page.${code}`, sentence);
}

/** What finds a request in the log, under the page of its error. */
export function referenceLine(id: string): Message {
  return { rule: "errors.reference", params: { id }, message: `Reference: ${id}` };
}

/** What leads back to the page of a form that was refused. */
export const BACK: Message = message("errors.back", "Back to the page");

/** Declares all of these, once every code has been declared. Their German is that of the codes of the lower layers. */
export function declareErrorMessages(catalogue: Catalogue): void {
  const codes = (Object.keys(ERRORS) as ErrorCode[]).filter(isShown);
  const statuses = [...new Set([...codes.map((code) => ERRORS[code][0]), ...Object.keys(TITLES).map(Number)])];
  const messages = [
    ...codes.flatMap((code) => [codeSentence(code), pageMessage(code) ?? []].flat()),
    ...statuses.flatMap((status) => [statusTitle(status), pageTitle(status)]),
    message("errors.reference", "Reference: {id}"),
    BACK,
  ];
  const sentences: Sentences = Object.fromEntries(messages.map(({ rule, message }) => [rule!, message]));
  catalogue.declare(sentences, { de: () => import("./messages.de.ts") });
}

/** Of what the application is to blame for, callers are only told that it is. */
function isShown(code: ErrorCode): boolean {
  return ERRORS[code][0] !== 500 || code === "E_INTERNAL";
}
