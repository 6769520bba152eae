import { type Configuration, ConfigurationError } from "ashlar";
import type { Mailable } from "ashlar/mail";
import { InvitationMail } from "./invitation-mail.ts";

/** The shape of `INVITATIONS` in `config/invitations.ts`. */
export interface InvitationSettings {
  readonly expiresInMinutes: number;
  readonly mailable: new (link: string) => Mailable;
}

export function readSettings(config: Configuration): InvitationSettings {
  const { INVITATIONS } = config.optionalSection("invitations", ["INVITATIONS"]);
  const { expiresInMinutes = 60, mailable = InvitationMail } = (INVITATIONS ?? {}) as Partial<InvitationSettings>;
  if (Number.isInteger(expiresInMinutes) && expiresInMinutes >= 1) return { expiresInMinutes, mailable };
  const where = "config/invitations.ts: INVITATIONS.expiresInMinutes";
  throw new ConfigurationError(where, "is not a number of minutes.", "Leave it out for 60.");
}
