import type { Configuration } from "ashlar";
import type { Mailable } from "ashlar/mail";
import { type Complete, minutes, settings, shape } from "ashlar/settings";
import { InvitationMail } from "./invitation-mail.ts";

type InvitationMailClass = new (link: string) => Mailable;

/** The shape of `INVITATIONS` in `config/invitations.ts`. */
export interface InvitationSettings {
  /** How long an invitation is valid, in minutes, from 1 to 525,600; default: 60. */
  readonly expiresInMinutes?: number;
  /** The application's own mail. */
  readonly mailable?: InvitationMailClass;
}

const isMail = (value: unknown): value is InvitationMailClass => typeof value === "function";

const SCHEMA = settings<InvitationSettings>()({
  expiresInMinutes: minutes(60),
  mailable: shape<InvitationMailClass, InvitationMailClass>(
    "a class that extends InvitationMail",
    isMail,
    InvitationMail,
  ),
});

export function readSettings(config: Configuration): Complete<InvitationSettings> {
  const { INVITATIONS } = config.optionalSection("invitations", ["INVITATIONS"]);
  return SCHEMA.read(INVITATIONS, "config/invitations.ts: INVITATIONS");
}
