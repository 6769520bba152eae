import { Mailable, type MailContent } from "../../src/mail/index.ts";

/** A mail that cannot be created. */
export class BrokenMailable extends Mailable {
  constructor() {
    super();
    throw new Error("broken");
  }

  override subject(): string {
    return "";
  }

  override content(): MailContent {
    return { text: "" };
  }
}
