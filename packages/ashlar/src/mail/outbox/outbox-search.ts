import { type Connection, type Row, visitInBatches } from "../../database/index.ts";
import { normalizeKnownEmail } from "../../security/index.ts";
import type { MailAddress } from "../message/mail-address.ts";
import { type MailMessage, recipientsOf } from "../message/mail-message.ts";
import type { OutboxSeal } from "./outbox-seal.ts";
import { MAIL_OUTBOX_TABLE as TABLE } from "./outbox-table.ts";

/** The account that a mail is about. */
export interface MailSubject {
  readonly guard: string;
  /** The user's primary key, as text. */
  readonly id: string;
}

/** A mail as stored in a row. */
export interface StoredMail extends MailMessage {
  /** The account that the mail is about; missing in other mails, and in those that an older version has queued. */
  readonly account?: MailSubject;
}

/** The user whose rows are searched for. */
export interface OutboxOwner {
  /** The owner's addresses, in any spelling. */
  readonly addresses: readonly string[];
  /** Reports whether an account is the owner's. */
  isSubject(account: MailSubject): boolean;
  /** Reports whether promised work identifies the owner by anything other than an address. */
  isNamedIn(work: unknown): boolean;
}

/** A row of the outbox about someone: a mail to or about them, or work that leads to one. */
export interface OwnedRow {
  readonly id: string;
  /** `mail`, or the name of promised work. */
  readonly kind: string;
  /** The name of the mail's class; `null` if there is no mail yet. */
  readonly mailable: string | null;
  /** `null` if there is no mail yet. */
  readonly subject: string | null;
  /** Whether it is a mail to several people that isn't about the owner's account. */
  readonly isShared: boolean;
  readonly createdAt: Date;
  /** When it was abandoned; `null` if it is waiting. */
  readonly failedAt: Date | null;
}

/**
 * Finds and removes a user's rows in the outbox. Each row has to be unsealed, so use this only for an operator's
 * commands, not for requests.
 */
export class OutboxSearch {
  readonly #connection: Connection;
  readonly #seal: OutboxSeal;

  constructor(connection: Connection, seal: OutboxSeal) {
    this.#connection = connection;
    this.#seal = seal;
  }

  /** The owner's rows, oldest first. Mails that were sealed with an unknown key can't be recognized. */
  async about(owner: OutboxOwner): Promise<readonly OwnedRow[]> {
    const found: OwnedRow[] = [];
    await this.#visit(owner, (row) => void found.push(row));
    return found;
  }

  /**
   * Removes a user from the outbox: deletes their rows, whether or not a process is sending them, and removes their
   * address from mails to several people. Takes part in the current transaction.
   *
   * @returns how many rows it deleted or changed
   */
  async remove(owner: OutboxOwner): Promise<number> {
    const deleted: string[] = [];
    const shared: { readonly id: string; readonly content: string }[] = [];
    await this.#visit(owner, ({ id, kind, isShared }, value) => {
      if (!isShared) deleted.push(id);
      else shared.push({ id, content: this.#seal.seal(kind, withoutOwner(value as StoredMail, owner)) });
    });
    const { kysely } = this.#connection;
    for (let from = 0; from < deleted.length; from += MAX_IDS) {
      const ids = deleted.slice(from, from + MAX_IDS);
      await kysely.deleteFrom(TABLE).where("id", "in", ids).execute();
    }
    for (const { id, content } of shared) {
      await kysely.updateTable(TABLE).set({ content }).where("id", "=", id).execute();
    }
    return deleted.length + shared.length;
  }

  async #visit(owner: OutboxOwner, visit: (row: OwnedRow, value: unknown) => void): Promise<void> {
    const table = { kysely: this.#connection.kysely, table: TABLE, key: "id" };
    const columns = ["kind", "mailable", "content", "created_at", "failed_at"];
    await visitInBatches(table, columns, async (rows) => {
      for (const row of rows) {
        const kind = String(row.kind);
        const opened = this.#seal.open(kind, String(row.content));
        const relation = opened === null ? null : relationOf(kind, opened.value, owner);
        if (relation !== null) visit(ownedRow(row, opened!.value, relation === "shared"), opened!.value);
      }
    });
  }
}

const MAX_IDS = 1000;

function ownedRow(row: Row, value: unknown, isShared: boolean): OwnedRow {
  return {
    id: String(row.id),
    kind: String(row.kind),
    mailable: row.mailable === null ? null : String(row.mailable),
    subject: row.kind === "mail" ? (value as MailMessage).subject : null,
    isShared,
    createdAt: new Date(Number(row.created_at)),
    failedAt: row.failed_at === null ? null : new Date(Number(row.failed_at)),
  };
}

/** Whether a row is only about the owner, is also sent to others, or isn't about the owner (`null`). */
function relationOf(kind: string, value: unknown, owner: OutboxOwner): "own" | "shared" | null {
  const isTheirs = addressTest(owner);
  if (kind !== "mail") return owner.isNamedIn(value) || hasText(value, isTheirs) ? "own" : null;
  const mail = value as StoredMail;
  if (mail.account !== undefined && owner.isSubject(mail.account)) return "own";
  const recipients = recipientsOf(mail);
  const theirs = recipients.filter(isTheirs);
  if (theirs.length === 0) return null;
  return theirs.length === recipients.length ? "own" : "shared";
}

function addressTest({ addresses }: OutboxOwner): (text: string) => boolean {
  const normal = new Set(addresses.map(normalForm));
  return (text) => normal.has(normalForm(text));
}

/** The normalized address, or the address itself if it can't be normalized. */
function normalForm(address: string): string {
  return normalizeKnownEmail(address) ?? address;
}

function withoutOwner(mail: StoredMail, owner: OutboxOwner): StoredMail {
  const isTheirs = addressTest(owner);
  const others = (all: readonly MailAddress[]) => all.filter(({ address }) => !isTheirs(address));
  return { ...mail, to: others(mail.to), cc: others(mail.cc), bcc: others(mail.bcc) };
}

/** Whether a text in promised work meets a condition. */
function hasText(value: unknown, meets: (text: string) => boolean): boolean {
  if (typeof value === "string") return meets(value);
  return typeof value === "object" && value !== null && Object.values(value).some((one) => hasText(one, meets));
}
