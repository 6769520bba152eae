import type { AccountMailData } from "ashlar/auth";
import { Mailable, type MailContent } from "ashlar/mail";

/** The data of the mail about an accepted invitation. */
export interface InvitationAcceptedData extends AccountMailData {
  /** The address that was invited. */
  readonly invited: string;
}

declare module "ashlar/auth" {
  interface AccountMailMap {
    invitationAccepted: InvitationAcceptedData;
  }
}

/** Tells a user that someone accepted their invitation. */
export class InvitationAcceptedMail extends Mailable {
  readonly #data: InvitationAcceptedData;

  constructor(data: InvitationAcceptedData) {
    super();
    this.#data = data;
  }

  override subject(): string {
    return `${this.#data.invited} has accepted your invitation`;
  }

  override content(): MailContent {
    return { text: "invitations::accepted.text", data: { invited: this.#data.invited } };
  }
}
