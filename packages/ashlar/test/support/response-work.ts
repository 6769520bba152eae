import { createHook } from "node:async_hooks";
import { channel } from "node:diagnostics_channel";
import { onTestFinished } from "vitest";
import { Mailable, type MailContent } from "../../src/mail/index.ts";
import { type TestAccounts, type TestAccountsOptions, testAccounts } from "./account-application.ts";
import { isOfLimits } from "./application-parts.ts";

/** The work that an application did for one request before the response was written to the socket. */
export interface ResponseWork {
  /** Database statements. */
  readonly statements: number;
  /** Promises, timers and system operations that were started. */
  readonly operations: number;
  /** Time on all processors, in microseconds. */
  readonly processor: number;
}

/** An application with accounts behind a socket, which records its steps in order. */
export interface WatchedAccounts {
  readonly accounts: TestAccounts;
  readonly url: string;
  /** `mail made`, `mail composed`, `responded`, `attempt counted`, and the first words of other statements, in order. */
  readonly order: string[];
  /** Sends one request, and waits for everything that it starts. */
  readonly work: (send: () => Promise<unknown>) => Promise<ResponseWork>;
}

const STARTED = "http.server.request.start";
/** Published after the last byte of a response was passed to the operating system. */
const RESPONDED = "http.server.response.finish";

/** Creates such an application. Its mails report when they are created and composed. */
export async function watchedAccounts(options: TestAccountsOptions = {}): Promise<WatchedAccounts> {
  const order: string[] = [];
  class WatchedMail extends Mailable {
    constructor() {
      super();
      order.push("mail made");
    }

    override subject(): string {
      return "A mail";
    }

    override content(): MailContent {
      order.push("mail composed");
      return { plainText: "A mail about your account." };
    }
  }
  const names = ["verifyEmail", "resetPassword", "emailChanged", "emailTaken"] as const;
  const mailables = Object.fromEntries(names.map((name) => [name, WatchedMail]));
  const accounts = await testAccounts({ ...options, ACCOUNTS: { ...options.ACCOUNTS, mailables } });
  const { url, port } = await accounts.application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });

  let operations = 0;
  const hook = createHook({ init: () => void operations++ });
  let before = { statements: 0, operations: 0, processor: 0 };
  let work: ResponseWork | null = null;
  const now = (): ResponseWork => {
    const { user, system } = process.cpuUsage();
    return { statements: accounts.queries.length, operations, processor: user + system };
  };
  const isOwn = (message: unknown) => {
    return (
      (message as { readonly request: { readonly socket: { readonly localPort?: number } } }).request.socket
        .localPort === port
    );
  };
  const started = (message: unknown) => {
    if (isOwn(message)) before = now();
  };
  const responded = (message: unknown) => {
    if (!isOwn(message)) return;
    const after = now();
    order.push("responded");
    work = {
      statements: after.statements - before.statements,
      operations: after.operations - before.operations,
      processor: after.processor - before.processor,
    };
  };
  // The first request checks whether the limits table exists.
  await accounts.application.container.make("throttle").peek("login", { address: "203.0.113.7" });
  accounts.database.onQuery(({ sql }) => order.push(isOfLimits(sql) ? "attempt counted" : sql.split(" ", 1)[0]!));
  channel(STARTED).subscribe(started);
  channel(RESPONDED).subscribe(responded);
  hook.enable();
  onTestFinished(() => {
    hook.disable();
    channel(STARTED).unsubscribe(started);
    channel(RESPONDED).unsubscribe(responded);
  });
  return {
    accounts,
    url,
    order,
    async work(send) {
      await send();
      await accounts.mails();
      return work!;
    },
  };
}
