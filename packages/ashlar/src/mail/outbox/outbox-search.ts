import { type Connection, type Row, visitInBatches } from "../../database/index.ts";
import { type MailMessage, recipientsOf } from "../mail-message.ts";
import type { OutboxSeal } from "./outbox-seal.ts";
import { MAIL_OUTBOX_TABLE as TABLE } from "./outbox-table.ts";

/** A row of the outbox about an address: a mail to it, or work that leads to one. */
export interface AddressedRow {
  readonly id: string;
  /** `mail`, or the name of promised work. */
  readonly kind: string;
  /** The name of the mail's class; `null` if there is no mail yet. */
  readonly mailable: string | null;
  /** `null` if there is no mail yet. */
  readonly subject: string | null;
  readonly createdAt: Date;
  /** When it was given up; `null` if it waits. */
  readonly failedAt: Date | null;
}

/**
 * Finds and deletes what waits in the outbox about addresses. Rows are sealed, so each has to be opened: for an operator's
 * commands, not for requests.
 */
export class OutboxSearch {
  readonly #connection: Connection;
  readonly #seal: OutboxSeal;

  constructor(connection: Connection, seal: OutboxSeal) {
    this.#connection = connection;
    this.#seal = seal;
  }

  /** The rows about any of these addresses, oldest first. Those that were sealed with an unknown key can't be told. */
  async about(addresses: ReadonlySet<string>): Promise<readonly AddressedRow[]> {
    const found: AddressedRow[] = [];
    const table = { kysely: this.#connection.kysely, table: TABLE, key: "id" };
    const columns = ["kind", "mailable", "content", "created_at", "failed_at"];
    await visitInBatches(table, columns, async (rows) => {
      for (const row of rows) {
        const kind = String(row.kind);
        const opened = this.#seal.open(kind, String(row.content));
        if (opened !== null && isAbout(kind, opened.value, addresses)) found.push(addressed(row, opened.value));
      }
    });
    return found;
  }

  /** Deletes rows, whether or not a process is sending them. Takes part in the current transaction. */
  async delete(ids: readonly string[]): Promise<void> {
    for (let from = 0; from < ids.length; from += MAX_IDS) {
      await this.#connection.kysely
        .deleteFrom(TABLE)
        .where("id", "in", ids.slice(from, from + MAX_IDS))
        .execute();
    }
  }
}

const MAX_IDS = 1000;

function addressed(row: Row, value: unknown): AddressedRow {
  return {
    id: String(row.id),
    kind: String(row.kind),
    mailable: row.mailable === null ? null : String(row.mailable),
    subject: row.kind === "mail" ? (value as MailMessage).subject : null,
    createdAt: new Date(Number(row.created_at)),
    failedAt: row.failed_at === null ? null : new Date(Number(row.failed_at)),
  };
}

function isAbout(kind: string, value: unknown, addresses: ReadonlySet<string>): boolean {
  if (kind === "mail") return recipientsOf(value as MailMessage).some((address) => addresses.has(address));
  return hasText(value, addresses);
}

/** Whether a text in promised work is one of these. */
function hasText(value: unknown, texts: ReadonlySet<string>): boolean {
  if (typeof value === "string") return texts.has(value);
  return typeof value === "object" && value !== null && Object.values(value).some((one) => hasText(one, texts));
}
