import { STATUS_CODES } from "node:http";
import { HTTP_MESSAGES } from "../../http/index.ts";
import { type Catalogue, messagesOf, type Sentences } from "../../messages/index.ts";
import { type AshlarError, ERRORS, type ErrorCode, type Message } from "../../support/index.ts";

/** The headings of error pages. Problem documents use the names of the statuses instead (RFC 9457 §4.2.1). */
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

const UNREACHABLE = "Something that is needed for this can't be reached right now. Try again in a moment.";

/** The text of an error page if the error has only its code's sentence, or a sentence that helps only developers. */
const MESSAGES: Readonly<Record<string, string>> = {
  E_BAD_REQUEST: "This request can't be read. Check the address, or start from the home page.",
  E_INVALID_BODY: "What you sent did not arrive as it should. Go back, and send it again.",
  E_UNAUTHENTICATED: "This is only for users who are logged in.",
  E_FORBIDDEN: "You don't have permission to do this.",
  E_NOT_FOUND: "There is no page at this address. Check it for typos, or start from the home page.",
  E_ROW_NOT_FOUND: "What this page was about is not here. It may have been deleted.",
  E_METHOD_NOT_ALLOWED: "Go back, and use the link or the button that leads here.",
  E_PAYLOAD_TOO_LARGE: "What you sent is too large. Go back, and send less or a smaller file.",
  E_TOO_MANY_REQUESTS: "There were too many requests. Try again later.",
  E_UNSUPPORTED_MEDIA_TYPE: "This can't be sent here. Go back, and use the form.",
  E_DATABASE_UNAVAILABLE: UNREACHABLE,
  E_DATABASE_BUSY: UNREACHABLE,
  E_DATABASE_CONFLICT: "Someone else was changing the same at this moment. Try again.",
  E_DATABASE_READ_ONLY: "Nothing can be changed at the moment. Try again later.",
  E_DATABASE_FULL: "There is no room for anything new at the moment. Try again later.",
  E_DATABASE_DAMAGED: "What is needed for this can't be read at the moment. Try again later.",
  E_REDIS_UNAVAILABLE: UNREACHABLE,
  E_SHUTTING_DOWN: "The site is about to restart. Try again in a moment.",
  E_INTERNAL: "It wasn't your fault. Try again in a moment.",
};

/** The text of the page for a body that is too large, if the limit is known. */
const TOO_LARGE = {
  "errors.page.body.tooLarge": "What you sent is larger than {limit}. Go back, and send less or a smaller file.",
} as const;

const tooLarge = messagesOf(TOO_LARGE);

/** The keys of the framework's sentences about requests that help only developers. */
const TECHNICAL = /^(?:body|form|query|request)\.(?!multipart\.files$)/;

const message = (rule: string, sentence: string): Message => ({ rule, params: {}, message: sentence });

/** The name of a status, such as `Not Found`. */
export function statusTitle(status: number): Message {
  return message(`errors.status.${status}`, STATUS_CODES[status] ?? (status === 419 ? "Page Expired" : "Error"));
}

/** The sentence for an error code. */
export function codeSentence(code: ErrorCode): Message {
  return message(`errors.${code}`, ERRORS[code][1]);
}

/** The heading of the page for errors with a status. */
export function pageTitle(status: number): Message {
  const title = TITLES[status];
  return title === undefined ? statusTitle(status) : message(`errors.title.${status}`, title);
}

/** The page's text for an error that has only its code's sentence; `null` if that sentence is enough. */
export function pageMessage(code: ErrorCode): Message | null {
  const sentence = MESSAGES[code];
  return sentence === undefined ? null : message(`errors.page.${code}`, sentence);
}

/**
 * The text of an error page. A sentence set by the application takes precedence. If the framework's sentence helps only
 * developers, the page shows another one. API clients get the original.
 */
export function visitorMessage({ code, detail, status }: AshlarError): Message {
  const { rule, params } = detail;
  if (status === 500) return pageMessage("E_INTERNAL")!;
  const said = status > 500 ? codeSentence(code) : detail;
  if (rule === "body.tooLarge") {
    return tooLarge("errors.page.body.tooLarge", { limit: { bytes: Number(params.max) } });
  }
  const isTechnical = status > 500 || rule === `errors.${code}` || (rule !== null && isTechnicalRule(rule));
  return (isTechnical ? pageMessage(code) : null) ?? said;
}

function isTechnicalRule(rule: string): boolean {
  return TECHNICAL.test(rule) && Object.hasOwn(HTTP_MESSAGES, rule);
}

/** The line under an error page that identifies the request in the log. */
export function referenceLine(id: string): Message {
  return { rule: "errors.reference", params: { id }, message: `Reference: ${id}` };
}

/** The link back to the page of a refused form. */
export const BACK: Message = message("errors.back", "Back to the page");

/** The text of the page that is shown while a server is too busy. */
export const BUSY: Message = message("errors.busy", "This site is very busy right now. Try again in a few seconds.");
/**
 * The text if a form was refused. In Firefox, the input is lost if the user goes back to the form, but is sent again if
 * the user reloads this page.
 */
export const NOT_SENT: Message = message(
  "errors.busy.sent",
  "This site is very busy right now, and what you sent was not accepted. Wait a few seconds, and reload this page: that sends it again.",
);
export const TRY_AGAIN: Message = message("errors.tryAgain", "Try again");

/** The sentences of a page that a proxy sends instead of the application. */
export interface PageSentences {
  readonly heading: Message;
  readonly text: Message;
  /** The text of the link back to the requested page. */
  readonly again?: Message;
}

const AWAY: Message = message(
  "errors.away",
  "This site can't be reached right now. Try again in a moment. If you have sent something, it may not have arrived: reload this page to send it again.",
);

/** The page that a proxy sends if it can't reach the application. */
export const AWAY_PAGE: PageSentences = { heading: pageTitle(503), text: AWAY, again: TRY_AGAIN };
/** The page that a proxy sends if it refuses a body that is too large. */
export const TOO_LARGE_PAGE: PageSentences = { heading: pageTitle(413), text: pageMessage("E_PAYLOAD_TOO_LARGE")! };

/**
 * Declares all of these sentences. Call it after every code has been declared. The German file covers the codes of the
 * lower layers.
 */
export function declareErrorMessages(catalogue: Catalogue): void {
  const codes = (Object.keys(ERRORS) as ErrorCode[]).filter(isShown);
  const statuses = [...new Set([...codes.map((code) => ERRORS[code][0]), ...Object.keys(TITLES).map(Number)])];
  const messages = [
    ...codes.flatMap((code) => [codeSentence(code), pageMessage(code) ?? []].flat()),
    ...statuses.flatMap((status) => [statusTitle(status), pageTitle(status)]),
    message("errors.reference", "Reference: {id}"),
    ...[AWAY, BACK, BUSY, NOT_SENT, TRY_AGAIN],
  ];
  const named = Object.fromEntries(messages.map(({ rule, message }) => [rule!, message]));
  const sentences: Sentences = { ...named, ...TOO_LARGE };
  catalogue.declare(sentences, { de: () => import("./messages.de.ts") });
}

/** Whether the code's sentence is shown. Clients get no details about failures that are the application's fault. */
function isShown(code: ErrorCode): boolean {
  return ERRORS[code][0] !== 500 || code === "E_INTERNAL";
}
