import { setTimeout as sleep } from "node:timers/promises";
import { linkIn, type MailServer, type ReceivedMail } from "../../packages/ashlar/test/support/mail-server.ts";
import { type SocketResponse, SocketVisitor } from "../../packages/ashlar/test/support/socket-visitor.ts";

/** An outcome that a user has seen. A request that wasn't acknowledged may or may not have taken effect. */
export interface Person {
  readonly email: string;
  /** The user's client address, so that limits count each user separately. */
  readonly address: string;
  /** The passwords that may be valid: the old and the new one if a reset wasn't acknowledged, otherwise only one. */
  passwords: readonly string[];
  /** Passwords that used to work and were replaced. */
  readonly formerPasswords: string[];
  /** `null` if no token was acknowledged, or if it may have been revoked. */
  token: string | null;
  /** Tokens that used to work and were renewed. */
  readonly formerTokens: string[];
  readonly orders: string[];
  /** Cookies of logins that used to work and were ended. */
  readonly endedLogins: ReadonlyMap<string, string>[];
  /** The paths of the links in the mails that the user is to receive. */
  readonly mails: string[];
}

/** The results of all users' requests. */
export interface Ledger {
  readonly people: Person[];
  requests: number;
  acknowledged: number;
  /** Requests that weren't acknowledged, by what came instead: a status or an error code. */
  readonly failed: Record<string, number>;
}

/** The paths in the links of mails. */
export const VERIFY = "/email/verify/";
export const RESET = "/password_reset";

/** How long a user waits for a response, and for a mail before continuing without it. */
const PATIENCE_MS = 20_000;

/** A test client with a user's address. */
export function visitorAs(person: Person, port: number): SocketVisitor {
  const headers = { host: "shop.example", "x-forwarded-for": person.address };
  return new SocketVisitor(`http://127.0.0.1:${port}`, { headers, timeoutMs: PATIENCE_MS });
}

/** The token in a response of `/api/auth` or `/api/reauth`. */
export const tokenIn = ({ body }: SocketResponse): string => (JSON.parse(body) as { data: string }).data;

/** The path that the link of a mail leads to. */
export function pathIn(mail: ReceivedMail): string {
  return linkIn(mail).replace(/^https?:\/\/[^/]+/, "");
}

/** Whether a mail contains a link to a path. */
export const leadsTo = (mail: ReceivedMail, email: string, path: string): boolean =>
  mail.to === email && /https?:/.test(mail.source) && pathIn(mail).startsWith(path);

/**
 * What one user does: registers, logs out, gets a token, places an order, renews the token and orders again. Every second
 * user also sets a new password by mail. Requests that aren't acknowledged aren't repeated.
 *
 * @param port of a proxy or an instance
 * @param number of the person
 */
export async function live(ledger: Ledger, mail: MailServer, port: number, number: number): Promise<void> {
  const password = `stone ${number} on stone`;
  const person: Person = {
    email: `person-${number}@shop.example`,
    address: `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`,
    passwords: [password],
    formerPasswords: [],
    token: null,
    formerTokens: [],
    orders: [],
    endedLogins: [],
    mails: [],
  };
  const attempt = attemptsIn(ledger);
  const browser = visitorAs(person, port);
  const fields = { name: "A person", email: person.email, password, password_confirmation: password };
  const registered = await submit(attempt, browser, "/register", fields, "/email/verify/notice");
  if (registered === null) return;
  ledger.people.push(person);
  person.mails.push(VERIFY);
  if ((await attempt(() => browser.get("/logins"), isOk)) !== null) {
    const cookies = new Map(browser.cookies);
    const left = await submit(attempt, browser, "/logout", {}, "/login", "/email/verify/notice");
    if (left !== null) person.endedLogins.push(cookies);
  }
  const issued = await attempt(() => browser.post("/api/auth", { username: person.email, password }), isOk);
  if (issued !== null) {
    person.token = tokenIn(issued);
    if (await order(attempt, browser, person, `${number}-1`)) await renew(attempt, browser, person);
    if (person.token !== null) await order(attempt, browser, person, `${number}-2`);
  }
  if (number % 2 === 0) await resetPassword(attempt, browser, person, mail);
}

/** Sends a request and counts it. The result is `null` if the request wasn't acknowledged. */
export type Attempt = (
  send: () => Promise<SocketResponse>,
  isRight: (response: SocketResponse) => boolean,
) => Promise<SocketResponse | null>;

export const isOk = ({ status }: SocketResponse): boolean => status === 200;
const to =
  (path: string) =>
  ({ status, headers }: SocketResponse): boolean =>
    status === 302 && headers.location === path;

const formToken = ({ body }: SocketResponse): string => /name="__token" value="([^"]+)"/.exec(body)?.[1] ?? "";

/** Opens a form's page and, if there is one, sends the form. A redirect to another page acknowledges it. */
async function submit(
  attempt: Attempt,
  browser: SocketVisitor,
  path: string,
  fields: Readonly<Record<string, string>>,
  target: string,
  pagePath: string = path,
): Promise<SocketResponse | null> {
  const page = await attempt(() => browser.page(pagePath), isOk);
  if (page === null) return null;
  return await attempt(() => browser.postForm(path, { __token: formToken(page), ...fields }), to(target));
}

/** @returns a function that counts requests there */
export function attemptsIn(ledger: Ledger): Attempt {
  return async (send, isRight) => {
    ledger.requests++;
    const answer = await send().catch((error: NodeJS.ErrnoException) => error.code ?? error.message);
    if (typeof answer !== "string" && isRight(answer)) {
      ledger.acknowledged++;
      return answer;
    }
    const what = typeof answer === "string" ? answer : String(answer.status);
    ledger.failed[what] = (ledger.failed[what] ?? 0) + 1;
    return null;
  };
}

/** Places an order. @returns whether it was acknowledged */
export async function order(
  attempt: Attempt,
  visitor: SocketVisitor,
  person: Person,
  reference: string,
): Promise<boolean> {
  const token = person.token!;
  if ((await attempt(() => visitor.post("/api/orders", { token, reference }), isOk)) === null) return false;
  person.orders.push(reference);
  return true;
}

async function renew(attempt: Attempt, browser: SocketVisitor, person: Person): Promise<void> {
  const token = person.token!;
  const renewed = await attempt(() => browser.post("/api/reauth", { token }), isOk);
  person.token = renewed === null ? null : tokenIn(renewed);
  if (renewed !== null) person.formerTokens.push(token);
}

async function resetPassword(
  attempt: Attempt,
  browser: SocketVisitor,
  person: Person,
  { mails }: MailServer,
): Promise<void> {
  const { email } = person;
  if ((await submit(attempt, browser, "/change_password", { email }, "/change_password")) === null) return;
  person.mails.push(RESET);
  const endsAt = performance.now() + PATIENCE_MS;
  const arrived = () => mails.find((one) => leadsTo(one, email, RESET));
  while (arrived() === undefined && performance.now() < endsAt) await sleep(50);
  const mail = arrived();
  if (mail === undefined) return;
  const path = pathIn(mail);
  const token = new URL(path, "http://shop.example").searchParams.get("token")!;
  const former = person.passwords[0]!;
  const password = `${former} again`;
  const fields = { token, password, password_confirmation: password };
  person.passwords = [former, password];
  person.token = null;
  if ((await submit(attempt, browser, RESET, fields, "/login", path)) === null) return;
  person.passwords = [password];
  person.formerPasswords.push(former);
}
