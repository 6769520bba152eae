import { Mailable, type MailContent } from "ashlar/mail";

/** The mail with the link of an invitation. */
export class InvitationMail extends Mailable {
  readonly #link: string;

  constructor(link: string) {
    super();
    this.#link = link;
  }

  override subject(): string {
    return "You are invited";
  }

  override content(): MailContent {
    return { text: "invitations::invitation.text", data: { link: this.#link } };
  }
}
