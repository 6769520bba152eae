import { expect, test } from "vitest";
import { Container } from "../../kernel/index.ts";
import { Mailable, type MailContent } from "../composing/mailable.ts";
import { findPreviews, offeredPreviews, offerPreviews } from "./previews.ts";

class Receipt extends Mailable {
  static preview(): Receipt {
    return new Receipt();
  }

  override subject(): string {
    return "Receipt";
  }

  override content(): MailContent {
    return { text: "mail/receipt" };
  }
}

class Invitation extends Receipt {}

class WithoutPreview extends Mailable {
  override subject(): string {
    return "Never shown";
  }

  override content(): MailContent {
    return { text: "mail/receipt" };
  }
}

test("several features can offer previews, each to its own application", async () => {
  const [container, other] = [new Container(), new Container()];
  offerPreviews(container, [Receipt]);
  offerPreviews(container, [Invitation, WithoutPreview]);
  const { previews } = await findPreviews("/nowhere", offeredPreviews(container));
  expect(previews.map(({ name }) => name)).toEqual(["Invitation", "Receipt"]);
  expect(offeredPreviews(other)).toEqual([]);
});
