import { type AccountUser, queueAccountMail } from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { currentDate, type RegisteredUser } from "../../support/index.ts";
import { type MailRequest, REQUEST_MINUTES } from "../codes/login-codes.ts";
import type { LoginLinkService } from "../login-link-service.ts";
import { mailedAccount } from "./code-check.ts";
import "../events.ts";
import "../mails.ts";

/** The page that links lead to. */
export const LINK_PAGE = "login_links.link";

/** The request that a mail is for, and where it came from. */
export interface MailOrigin {
  readonly request: MailRequest;
  /** Whether its client is a browser, in which a link can log in. */
  readonly isBrowser: boolean;
  readonly language: string;
  /** The client's address. */
  readonly address: string | null;
}

export function originOf(context: HttpContext, request: MailRequest): MailOrigin {
  const { language, visitor } = context;
  return { request, isBrowser: visitor !== null, language, address: context.request.clientAddress };
}

/** Mails a user the code of a request, and the link if it logs in. Nothing is mailed to a blocked account. */
export async function mailCode(
  application: Application,
  { codes }: LoginLinkService,
  user: AccountUser,
  { request, isBrowser, language, address }: MailOrigin,
): Promise<void> {
  if (user.isBlocked?.() === true) return;
  const { container } = application;
  const { pages } = container.make("accounts");
  const { guard, kind } = request;
  const claim = { request, account: mailedAccount(user) };
  const isLinked = isBrowser && kind === "login" && pages.has(guard, LINK_PAGE);
  // Never to the address from the form, because the link belongs to the account, whatever the store considers equal.
  const email = user.email ?? "";
  await queueAccountMail(application, "loginLink", email, {
    guard,
    language,
    user,
    email,
    code: codes.code(claim),
    url: isLinked ? pages.url(guard, LINK_PAGE, { token: codes.link(claim) }) : null,
    isConfirmation: kind === "confirm",
    expiresInMinutes: REQUEST_MINUTES,
  });
  if (!container.has("events")) return;
  const event = { time: currentDate(), address, guard, user: user as object as RegisteredUser, email };
  void container.make("events").emit("login_links.sent", event);
}
