import { setTimeout as sleep } from "node:timers/promises";
import type { MailServer } from "../../packages/ashlar/test/support/mail-server.ts";
import type { SocketResponse } from "../../packages/ashlar/test/support/socket-visitor.ts";
import { leadsTo, type Person, tokenIn, visitorAs } from "./people.ts";

/** Descriptions of everything that contradicts an acknowledgment. */
export interface Audit {
  readonly lost: string[];
  readonly admitted: string[];
}

/** How long the application may take to answer its first request. */
const SETTLE_MS = 60_000;
const AT_ONCE = 4;

/**
 * Once the application works again, checks that everything it has acknowledged is there.
 *
 * @param mailMs how long mails may take to arrive
 */
export async function audit(
  people: readonly Person[],
  mail: MailServer,
  port: number,
  mailMs: number = SETTLE_MS,
): Promise<Audit> {
  const result: Audit = { lost: [], admitted: [] };
  const waiting = [...people];
  const ask = async (): Promise<void> => {
    for (let person = waiting.pop(); person !== undefined; person = waiting.pop()) await askFor(person, port, result);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  const endsAt = performance.now() + mailMs;
  const missing = (): string[] =>
    people.flatMap(({ email, mails }) =>
      mails.filter((path) => !mail.mails.some((one) => leadsTo(one, email, path))).map((path) => `${email}: ${path}`),
    );
  while (missing().length > 0 && performance.now() < endsAt) await sleep(250);
  result.lost.push(...missing().map((one) => `mail to ${one}`));
  return result;
}

async function askFor(person: Person, port: number, { lost, admitted }: Audit): Promise<void> {
  const { email } = person;
  const visitor = visitorAs(person, port);
  const me = (token: string) => settled(() => visitor.getWithToken("/api/me", token));
  const logIn = (one: string) => settled(() => visitor.post("/api/auth", { username: email, password: one }));
  for (const cookies of person.endedLogins) {
    const browser = visitorAs(person, port);
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    if ((await settled(() => browser.get("/logins"))).status !== 401) admitted.push(`${email}: an ended login`);
  }
  for (const token of person.formerTokens) {
    if ((await me(token)).status !== 401) admitted.push(`${email}: a renewed token`);
  }
  if (person.token !== null && (await me(person.token)).status !== 200) lost.push(`${email}: the token`);
  for (const former of person.formerPasswords) {
    if ((await logIn(former)).status !== 401) admitted.push(`${email}: a former password`);
  }
  const statuses: number[] = [];
  // The old password is tried first: a reset that is still in progress can only make the new one work.
  for (const password of person.passwords) {
    const issued = await logIn(password);
    statuses.push(issued.status);
    if (issued.status !== 200) continue;
    const found = await settled(() => visitor.getWithToken("/api/orders", tokenIn(issued)));
    if (found.status !== 200) continue;
    const orders = new Set(JSON.parse(found.body) as string[]);
    lost.push(...person.orders.filter((one) => !orders.has(one)).map((one) => `order ${one}`));
    return;
  }
  lost.push(`${email}: the account or its password (${statuses.join(", ")})`);
}

/** Repeats a request until the application answers it. */
async function settled(send: () => Promise<SocketResponse>): Promise<SocketResponse> {
  const endsAt = performance.now() + SETTLE_MS;
  for (;;) {
    const answer = await send().catch((error: Error) => error);
    if (!(answer instanceof Error) && answer.status < 500) return answer;
    if (performance.now() > endsAt) {
      throw new Error(`No answer in a minute: ${answer instanceof Error ? answer.message : answer.body}`);
    }
    await sleep(250);
  }
}
