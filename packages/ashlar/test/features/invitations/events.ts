/** An invitation was accepted. */
export interface InvitationEvent {
  readonly email: string;
}

declare module "ashlar/events" {
  interface EventMap {
    "invitation.accepted": InvitationEvent;
  }
}
