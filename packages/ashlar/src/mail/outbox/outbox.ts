import { randomInt } from "node:crypto";
import { CONFLICT_RETRIES, type Database } from "../../database/index.ts";
import type { Background, Logger } from "../../kernel/index.ts";
import { randomToken } from "../../security/index.ts";
import { AshlarError, afterCommit, type Complete } from "../../support/index.ts";
import type { Mailable } from "../composing/mailable.ts";
import type { MailMessage } from "../message/mail-message.ts";
import type { DeliveryFailure } from "../transports/delivery-failure.ts";
import { type DiscardedRow, discardWaiting } from "./discard-waiting.ts";
import { countLost, lostKey } from "./lost-key.ts";
import type { ClaimedRow } from "./outbox-claims.ts";
import { type FailedRow, OutboxRows, type RowResult, type RowWork } from "./outbox-rows.ts";
import type { OutboxSeal } from "./outbox-seal.ts";
import { type MailSubject, OutboxSearch, type StoredMail } from "./outbox-search.ts";
import type { MailSizes } from "./outbox-sizes.ts";
import type { MailPriority } from "./outbox-table.ts";
import { OutboxWorker } from "./outbox-worker.ts";
import { MAX_OUTAGE_PAUSE_MS } from "./server-outage.ts";

/** Settings for where mails wait until they are sent. */
export interface OutboxSettings {
  /**
   * Whether mails wait in the table `mail_outbox` of the application's database; default: `true`. With `false`, or
   * without a database or the table, they wait in memory, and are lost with the process.
   */
  readonly enabled?: boolean;
  /** How often a server polls for mails that other processes left behind, 0.05 to 3600 seconds; default: 5. */
  readonly pollSeconds?: number;
  /** How long it takes until another process sends a dead process's mails, 0.5 to 3600 seconds; default: 60. */
  readonly claimSeconds?: number;
  /** How long to keep trying to send a mail, 0.0001 to 720 hours; default: 24. */
  readonly retryHours?: number;
  /** How long to keep mails that could not be sent, 0 to 3650 days; default: 30. */
  readonly keepFailedDays?: number;
}

/** The outcome of an attempt to send a mail. */
export type MailAttempt =
  | { readonly outcome: "sent" }
  | ({ readonly outcome: "interrupted" } & Pick<DeliveryFailure, "reason" | "mayHaveArrived">)
  | ({ readonly outcome: "failed" } & DeliveryFailure);

/** The parts of the mailer that an {@link Outbox} needs. */
export interface MailSender {
  /** How many mails are sent concurrently. */
  readonly concurrency: number;
  /**
   * Sends a mail once.
   *
   * @param mailable the mail's class instance; `null` if another process has composed the mail
   */
  attempt(message: MailMessage, mailable: Mailable | null, signal: AbortSignal): Promise<MailAttempt>;
  /** Reports that a mail will be tried again after a pause. */
  postponed(message: MailMessage, reason: string, attempts: number, pauseMs: number): void;
  /** Reports that a mail was abandoned. */
  failed(message: MailMessage, reason: string, attempts: number): void;
}

/** Options of an {@link Outbox}. */
export interface OutboxOptions {
  readonly database: Database;
  /** Whether the table has the column `priority`. */
  readonly hasPriority: boolean;
  readonly seal: OutboxSeal;
  readonly settings: Complete<OutboxSettings>;
  /** The pause before the second attempt, in seconds. */
  readonly delaySeconds: number;
  readonly sender: MailSender;
  readonly background: Background;
  readonly logger: Logger;
}

/** Promised work, which may lead to a mail. Its argument is the stored data. */
export type PromisedWork = (data: unknown) => Promise<void>;

/** Thrown by promised work that must not be retried, because it can no longer succeed. */
export class PromiseBroken extends Error {}

const MAIL = "mail";
const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
/** The longest pause, so that mails are sent within minutes once the mail server is back. */
const MAX_PAUSE_MS = 10 * 60_000;

/**
 * Makes sure that mails aren't lost. Each mail is a row in the table `mail_outbox`, written in the same transaction as
 * the data it is about, and deleted once the mail is sent. Any of the application's processes can send what is left.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #rows: OutboxRows;
  readonly #worker: OutboxWorker;
  readonly #promises: ReadonlyMap<string, PromisedWork>;
  /** Whether the lost key has been logged. Once per process is enough, because its keys don't change. */
  #isLossLogged = false;

  /** @param promises the functions for promised work, by name; more can be added later */
  constructor(options: OutboxOptions, promises: ReadonlyMap<string, PromisedWork>) {
    const { database, hasPriority, settings, sender, logger } = options;
    const claimMs = settings.claimSeconds * 1000;
    this.#options = options;
    this.#promises = promises;
    const retryMs = Math.round(settings.retryHours * HOUR_MS);
    this.#rows = new OutboxRows(database.connection(), { claimant: randomToken(), claimMs, hasPriority, retryMs });
    this.#worker = new OutboxWorker({
      rows: this.#rows,
      concurrency: sender.concurrency,
      claimMs,
      pollMs: settings.pollSeconds * 1000,
      outagePauseMs: options.delaySeconds * 1000,
      logger,
      workOn: (row) => this.#workOn(row),
    });
  }

  /** How many mails and promised jobs this process hasn't finished. */
  get pending(): number {
    return this.#worker.pending;
  }

  /**
   * Stores a mail, in the caller's transaction if there is one, and sends it after the commit and the response. A bulk mail
   * is sent by whichever process has room for it.
   *
   * @param account the account that the mail is about; `null` for other mails
   * @throws if the mail can't be stored
   */
  async add(
    message: MailMessage,
    mailable: Mailable,
    priority: MailPriority,
    account: MailSubject | null,
  ): Promise<void> {
    const claimedAt = performance.now();
    const stored: StoredMail = account === null ? message : { ...message, account };
    const content = this.#options.seal.seal(MAIL, stored);
    const id = await this.#rows.insert({ kind: MAIL, mailable: message.mailable, content, priority });
    if (priority === "bulk") return afterCommit(() => this.#worker.offer());
    const work: RowWork = (signal) => this.#send({ id, attempts: 1 }, message, mailable, signal);
    afterCommit(() => this.#worker.add(id, work, claimedAt, priority));
  }

  /**
   * Stores promised work, in the caller's transaction if there is one, and runs it after the commit and the response, at a
   * random time within a second. If this process dies before that, another one runs it.
   *
   * Security: the row is written before the work finds out whether there is anything to do, so the response time doesn't
   * depend on that.
   *
   * @param name the work's name, as known to all processes
   * @param title a description for the log
   * @param data the data that another process needs to run the work; stored sealed
   * @param work runs the work in this process
   */
  async promise(name: string, title: string, data: unknown, work: () => Promise<void>): Promise<void> {
    const claimedAt = performance.now();
    const content = this.#options.seal.seal(name, data);
    const id = await this.#rows.insert({ kind: name, mailable: null, content, priority: "account" });
    afterCommit(() => {
      const keep = () => this.#keep({ id, attempts: 1 }, title, work);
      const entry = this.#worker.adopt(id, keep, claimedAt, "account");
      this.#options.background.runUnpredictably(title, () => this.#worker.run(entry));
    });
  }

  /** Starts to poll for rows that other processes left. */
  start(): void {
    this.#worker.start();
  }

  /** Resolves once this process has tried all rows that it has claimed. */
  settled(): Promise<void> {
    return this.#worker.settled();
  }

  /**
   * Tries this process's claimed rows once more. Rows that aren't done in time are released for other processes.
   */
  async close(seconds: number): Promise<void> {
    const left = await this.#worker.close(seconds);
    if (left > 0)
      this.#options.logger.warn({ mails: left }, "Mails stay in the outbox, because the application was shut down.");
  }

  /** The contents of the outbox for all processes. Cheap enough for statistics. */
  sizes(): Promise<MailSizes> {
    return this.#rows.sizes();
  }

  /** How many mails of all processes are waiting, and how many were abandoned. Reads all rows. */
  counts(): Promise<{ readonly waiting: number; readonly failed: number }> {
    return this.#rows.counts();
  }

  /** How many of the oldest 2,000 rows can't be opened because the application no longer has the key. */
  lost(): Promise<number> {
    return countLost(this.#rows.connection, this.#options.seal);
  }

  /** The abandoned mails, oldest first, each with its message if it can be read. */
  async failed(limit: number): Promise<readonly (FailedRow & { readonly message: MailMessage | null })[]> {
    const rows = await this.#rows.failed(limit);
    return rows.map((row) => ({ ...row, message: row.kind === MAIL ? this.#messageIn(row) : null }));
  }

  /** Makes abandoned mails due again, either those with these ids or all. Returns how many. */
  retry(ids: readonly string[] | null): Promise<number> {
    return this.#rows.retry(ids);
  }

  /** Makes all mails due that are waiting for their next attempt. Returns how many. */
  hurry(): Promise<number> {
    return this.#rows.hurry();
  }

  /** Deletes all waiting rows without sending their mails; see {@link discardWaiting}. */
  discard(discarded: (rows: readonly DiscardedRow[]) => void): Promise<number> {
    return discardWaiting(this.#rows.connection, this.#options.seal, discarded);
  }

  /** The rows about an account or addresses; see {@link OutboxSearch}. */
  get search(): OutboxSearch {
    return new OutboxSearch(this.#rows.connection, this.#options.seal);
  }

  /** Deletes mails that were abandoned longer ago than `keepFailedDays`. Returns how many. */
  prune(signal?: AbortSignal): Promise<number> {
    return this.#rows.prune(this.#options.settings.keepFailedDays * DAY_MS, signal);
  }

  #workOn(row: ClaimedRow): RowWork {
    if (row.kind === MAIL) {
      const message = this.#messageIn(row);
      if (message === null) return () => this.#notOpened(row);
      return (signal) => this.#send(row, message, null, signal);
    }
    const work = this.#promises.get(row.kind);
    const opened = this.#options.seal.open(row.kind, row.content);
    // Another process, with newer code or with the key, may be able to run it.
    if (work === undefined) return () => this.#again(row, `This application does not know the work "${row.kind}".`);
    if (opened === null) return () => this.#notOpened(row);
    return () => this.#keep(row, row.kind, () => work(opened.value));
  }

  async #notOpened(row: Tried): Promise<RowResult> {
    if (!this.#isLossLogged) {
      this.#isLossLogged = true;
      const reason = `Mails in the outbox can't be opened: ${lostKey(2)}.`;
      const mails = await this.lost();
      this.#options.logger.error({ mails }, `${reason} They are sent once it is there, and given up otherwise.`);
    }
    return this.#again(row, `It cannot be opened: ${lostKey(1)}.`);
  }

  #messageIn({ kind, content }: ClaimedRow): MailMessage | null {
    const opened = this.#options.seal.open(kind, content);
    if (opened === null) return null;
    // Transports don't need to know whose mail it is.
    const { account: _account, ...message } = opened.value as StoredMail;
    return Object.freeze(message);
  }

  async #send(row: Tried, message: MailMessage, mailable: Mailable | null, signal: AbortSignal): Promise<RowResult> {
    const { sender } = this.#options;
    const attempt = await sender.attempt(message, mailable, signal);
    if (attempt.outcome === "sent") {
      await this.#rows.finish(row.id);
      return { pauseMs: null, server: "reached" };
    }
    if (attempt.outcome === "interrupted") {
      // Otherwise, another process would send the mail at once. If one has already taken over the row, this changes
      // nothing.
      if (attempt.mayHaveArrived) await this.#rows.postpone(row.id, attempt.reason, varied(MAX_PAUSE_MS));
      return DONE;
    }
    const { reason, isPermanent, mayHaveArrived = false, isUnreachable = false } = attempt;
    const server = isUnreachable ? "unreachable" : mayHaveArrived ? null : "reached";
    if (isPermanent) {
      if ((await this.#rows.fail(row.id, reason)) !== "lost") sender.failed(message, reason, row.attempts);
      return { pauseMs: null, server };
    }
    // Each attempt may put another copy into the recipient's mailbox.
    const usualMs = mayHaveArrived ? varied(MAX_PAUSE_MS) : this.#pause(row.attempts);
    // During an outage, the worker decides which mails are tried. Once it is over, all of them are due.
    const pauseMs = isUnreachable ? Math.min(usualMs, varied(MAX_OUTAGE_PAUSE_MS)) : usualMs;
    const result = await this.#rows.postpone(row.id, reason, pauseMs);
    if (result === "failed") sender.failed(message, reason, row.attempts);
    if (result !== "postponed") return { pauseMs: null, server };
    sender.postponed(message, reason, row.attempts, pauseMs);
    return { pauseMs, server };
  }

  /** Runs promised work and deletes its row in one transaction, so that it takes effect exactly once. */
  async #keep(row: Tried, title: string, work: () => Promise<void>): Promise<RowResult> {
    try {
      const { database } = this.#options;
      const keep = async () => void ((await this.#rows.finish(row.id)) && (await work()));
      await database.transaction(keep, { retries: CONFLICT_RETRIES });
      return DONE;
    } catch (error) {
      this.#options.logger.error({ err: error, job: title }, "A background job failed.");
      if (error instanceof PromiseBroken) {
        await this.#rows.finish(row.id);
        return DONE;
      }
      // The error's own text may contain details of the work.
      const reason = error instanceof AshlarError ? error.code : "An error that is in the log.";
      return this.#again(row, reason);
    }
  }

  async #again(row: Tried, reason: string): Promise<RowResult> {
    const pauseMs = this.#pause(row.attempts);
    const result = await this.#rows.postpone(row.id, reason, pauseMs);
    if (result === "failed") {
      this.#options.logger.error(
        { outbox: row.id, reason, attempts: row.attempts },
        "A mail in the outbox was abandoned.",
      );
    }
    return { pauseMs: result === "postponed" ? pauseMs : null, server: null };
  }

  /** The pause before the next attempt, which doubles each time. */
  #pause(attempts: number): number {
    return varied(Math.min(this.#options.delaySeconds * 1000 * 2 ** (attempts - 1), MAX_PAUSE_MS));
  }
}

/**
 * Varies a pause, so that mails aren't all retried at once, which could bring down a server that has just recovered.
 */
function varied(pauseMs: number): number {
  return pauseMs * (0.75 + randomInt(1000) / 2000);
}

/** A row's id, and how often it has been tried. */
type Tried = Pick<ClaimedRow, "id" | "attempts">;

/** The row needs no further attempt, and the attempt shows nothing about the mail server. */
const DONE: RowResult = { pauseMs: null, server: null };
