import { expect, test } from "vitest";
import { Mailable, type MailContent } from "../composing/mailable.ts";
import { findPreviews } from "./previews.ts";

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

test("the mails of features are shown if they have a preview", async () => {
  const { previews } = await findPreviews("/nowhere", [Receipt, Invitation, WithoutPreview, null]);
  expect(previews.map(({ name }) => name)).toEqual(["Invitation", "Receipt"]);
});
