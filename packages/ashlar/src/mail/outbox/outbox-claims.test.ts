import { expect, onTestFinished, test } from "vitest";
import { doubled, readsOf } from "../../../test/support/outbox-reads.ts";
import { onEachDatabase } from "../../../test/support/services.ts";
import type { QueryEvent } from "../../database/index.ts";
import { OutboxClaims } from "./outbox-claims.ts";
import { addPriorityToMailOutbox, createMailOutboxTable } from "./outbox-table.ts";

const MANY = 32_768;

await onEachDatabase("claims of the outbox", (engine) => {
  test.each([true, false])(
    "read no more rows than they take, however many are due, with priorities: %s",
    async (hasPriority) => {
      const own = await engine.open();
      onTestFinished(() => own.drop());
      const { database } = own;
      await createMailOutboxTable(database.kysely);
      if (hasPriority) await addPriorityToMailOutbox(database.kysely);
      const at = Date.now() - 60_000;
      const row = { kind: "mail", content: "", attempts: 0, created_at: at, available_at: at, retry_until: at };
      await database.kysely
        .insertInto("mail_outbox")
        .values({ ...row, ...(hasPriority && { priority: 2 }) })
        .execute();
      await doubled(engine, own, MANY);
      const options = { claimant: "test", claimMs: 60_000, hasPriority };
      const claims = new OutboxClaims(database.connection(), options);
      const statements: string[] = [];
      const stop = database.onQuery(({ sql }: QueryEvent) => void statements.push(sql));
      expect(await claims.claim({ all: 5, bulk: 4 }, ["1"])).toHaveLength(hasPriority ? 4 : 5);
      stop();
      const looks = statements.filter((statement) => / order by /.test(statement));
      // One query covers all priorities, and another one locks the rows.
      expect(looks).toHaveLength(2);
      for (const look of looks) {
        const reads = await readsOf(engine, own, look.replaceAll(/\?|\$\d+/g, engine.name === "sqlite" ? "9e15" : "1"));
        // SQLite doesn't count rows, but its plan would show a temporary tree for sorting.
        if (engine.name === "sqlite") expect(reads).not.toMatch(/TEMP B-TREE|SCAN mail_outbox/);
        else expect(reads).toBeLessThan(20);
      }
    },
  );
});
