import { expect, test } from "vitest";
import type { CommandContext } from "../../src/boot/index.ts";
import { run } from "../../src/mail/commands/mail-discard.ts";
import { DeliveryError } from "../../src/mail/index.ts";
import { abandoned, opened, shop } from "../support/outbox-shop.ts";
import { onEachDatabase } from "../support/services.ts";

await onEachDatabase("mail:discard", (engine) => {
  test("logs which mails and work it has deleted, with masked recipients, and leaves abandoned ones", async () => {
    const own = await opened(engine);
    await abandoned(own, 2);
    const { application, store, transport, queue, mail, rows } = await shop(own);
    transport.decide = () => Promise.reject(new DeliveryError("No such mailbox.", { permanent: true }));
    await queue("given up");
    await mail.settled();
    transport.decide = () => Promise.reject(new DeliveryError("It was killed.", { permanent: false }));
    await store.promise("greeting", "A greeting", { email: "bob@example.com" }, async () => {
      throw new Error("later");
    });
    const ids = (await rows()).filter(({ failed_at }) => failed_at === null).map(({ id }) => String(id));
    expect(ids).toHaveLength(3);
    const logged: { readonly outbox?: string; readonly message: string }[] = [];
    application.logger.info = ((details: object, message: string) => {
      logged.push({ ...details, message });
    }) as typeof application.logger.info;
    const lines: string[] = [];
    await run({
      args: ["--waiting", "--yes"],
      print: (line = "") => void lines.push(line),
      application: async () => application,
    } as unknown as CommandContext);
    expect(lines).toEqual(["3 mails deleted, unsent."]);
    const message = "A waiting mail was deleted, unsent.";
    const createdAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT.+Z$/);
    const note = { kind: "mail", mailable: "Note", recipients: ["a…@example.com"], createdAt, message };
    const numberOf = ({ outbox }: { readonly outbox?: string }) => Number(outbox ?? Number.POSITIVE_INFINITY);
    const inOrder = logged.toSorted((one, other) => numberOf(one) - numberOf(other));
    expect(inOrder).toEqual([
      { outbox: ids[0], ...note },
      { outbox: ids[1], ...note },
      { outbox: ids[2], kind: "greeting", mailable: null, recipients: null, createdAt, message },
      { mails: 3, message: "Waiting mails were deleted, unsent." },
    ]);
    expect((await rows()).map(({ failed_at }) => failed_at !== null)).toEqual([true]);
  });
});
