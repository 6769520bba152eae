export type { InvitationEvent } from "./events.ts";
export { type InvitationAcceptedData, InvitationAcceptedMail } from "./invitation-accepted-mail.ts";
export { InvitationMail } from "./invitation-mail.ts";
export { Invitations } from "./invitations.ts";
export { InvitationsController } from "./invitations-controller.ts";
export { InvitationsProvider } from "./invitations-provider.ts";
export { InvitedMiddleware } from "./invited-middleware.ts";
