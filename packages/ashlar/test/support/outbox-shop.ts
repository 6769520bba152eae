import { expect, onTestFinished } from "vitest";
import { type Application, createApplication } from "../../src/boot/index.ts";
import { type Database, DatabaseProvider, type Row } from "../../src/database/index.ts";
import { EventProvider } from "../../src/events/index.ts";
import {
  addPriorityToMailOutbox,
  createMailOutboxTable,
  type Delivery,
  DeliveryError,
  Mailable,
  type MailContent,
  type Mailer,
  type MailMessage,
  MailProvider,
  type MailTransport,
} from "../../src/mail/index.ts";
import { Route } from "../../src/routing/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { ViewProvider } from "../../src/views/index.ts";
import type { TestDatabase, TestEngine } from "./services.ts";
import { folderWith } from "./temporary-folder.ts";

/** The application key of every process, unless a test gives it a different one. */
export const KEY: string = generateSecret();

/** A mail whose text must not be readable in the database. */
export class Note extends Mailable {
  readonly #subject: string;

  constructor(subject: string) {
    super();
    this.#subject = subject;
  }

  override subject(): string {
    return this.#subject;
  }

  override content(): MailContent {
    return { text: "note" };
  }
}

/** Accepts mails, unless a function refuses them. */
export class Recording implements MailTransport {
  readonly concurrency: number = 3;
  readonly tried: MailMessage[] = [];
  readonly deliveries: Delivery[] = [];
  decide: (attempt: number, delivery: Delivery) => Promise<void> = async () => {};

  deliver(message: MailMessage, delivery: Delivery): Promise<void> {
    this.tried.push(message);
    this.deliveries.push(delivery);
    return this.decide(this.tried.length, delivery);
  }

  close(): void {}

  get subjects(): string[] {
    return this.tried.map(({ subject }) => subject);
  }
}

/** A database with the outbox's table. */
export async function opened(engine: TestEngine): Promise<TestDatabase> {
  const own = await engine.open();
  onTestFinished(() => own.drop());
  await createMailOutboxTable(own.database.kysely);
  await addPriorityToMailOutbox(own.database.kysely);
  return own;
}

/** How a test's process differs from the default. */
export interface ShopOptions {
  readonly outbox?: object;
  readonly retry?: object;
  readonly key?: string;
  readonly previous?: string;
  /** Receives the log's warnings and errors. */
  readonly logged?: Record<string, unknown>[];
}

/** One process of an application that sends mails. */
export interface OutboxShop {
  readonly application: Application;
  readonly database: Database;
  readonly transport: Recording;
  readonly mail: Mailer;
  readonly store: NonNullable<Awaited<ReturnType<Mailer["outbox"]>>>;
  readonly rows: () => Promise<Row[]>;
  /** Queues a mail with a subject. */
  readonly queue: (subject: string) => Promise<void>;
}

/** A process of the application, which shares only the database with others. */
export async function shop(own: TestDatabase, options: ShopOptions = {}): Promise<OutboxShop> {
  const transport = new Recording();
  const { outbox = {}, retry = { delaySeconds: 60 }, key = KEY, previous, logged } = options;
  const root = await folderWith({ "views/note.edge": "The secret of the note" });
  const application = await createApplication({
    root,
    providers: [EventProvider, DatabaseProvider, ViewProvider, MailProvider],
    environment: { APP_ENV: "test", APP_KEY: key, ...(previous && { APP_PREVIOUS_KEYS: previous }) },
    config: {
      app: { APP: { log: { level: "silent" }, server: { shutdownTimeoutSeconds: 2 } } },
      database: { DATABASES: { default: "main", main: own.configuration } },
      mail: { MAIL: { transport, retry, outbox: { pollSeconds: 3600, ...outbox } } },
    },
    routes: [
      Route.post("/notes", async ({ mail }) => {
        await mail.queue(new Note("of a request"), "ada@example.com");
        return { tried: transport.tried.length };
      }),
    ],
  });
  onTestFinished(() => application.shutdown());
  if (logged !== undefined) {
    for (const level of ["warn", "error"] as const) {
      application.logger[level] = ((details: object, message: string) => {
        logged.push({ level, ...details, message });
      }) as typeof application.logger.warn;
    }
  }
  const mail = application.container.make("mail");
  const store = (await mail.outbox())!;
  const mails = own.database.kysely.selectFrom("mail_outbox").selectAll().orderBy("id");
  const rows = async () => (await mails.execute()) as Row[];
  return {
    application,
    database: application.container.make("database"),
    transport,
    mail,
    store,
    rows,
    queue: (subject: string) => mail.queue(new Note(subject), "ada@example.com"),
  };
}

/** Leaves mails in the outbox as a dead process would: with expired claims. */
export async function abandoned(own: TestDatabase, count: number, options: ShopOptions = {}): Promise<void> {
  const dead = await shop(own, options);
  dead.transport.decide = () => Promise.reject(new DeliveryError("It was killed.", { permanent: false }));
  await Promise.all(Array.from({ length: count }, (_, index) => dead.queue(`note ${index}`)));
  await dead.mail.settled();
  await own.database.kysely.updateTable("mail_outbox").set({ available_at: 0, claim: "dead" }).execute();
}

/** Waits until no row is left. */
export async function allSent(rows: () => Promise<Row[]>): Promise<void> {
  await expect.poll(rows, { timeout: 60_000 }).toEqual([]);
}

/** Sends a request that queues a mail, and returns the response. */
export async function respond({ fetch }: Application): Promise<unknown> {
  return (await fetch(new Request("http://localhost/notes", { method: "POST" }))).json();
}
