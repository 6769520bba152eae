/** The paths of the pages about accounts, by page name: those of `Auth.routes`, and of a front end that has these pages. */
export const ACCOUNT_PATHS = {
  login: "/login",
  "login.device": "/login/device/@token",
  home: "/home",
  register: "/register",
  change_password: "/change_password",
  password_reset: "/password_reset",
  "email.verify.notice": "/email/verify/notice",
  "email.verify": "/email/verify/@token",
  logins: "/logins",
  confirm_password: "/confirm_password",
  "account.password": "/account/password",
  "account.email": "/account/email",
  "email.undo": "/email/undo/@token",
} as const;

/** The path of a page, with its parameters filled in; `null` if it is not one of these. */
export function accountPath(page: string, parameters: Readonly<Record<string, unknown>>): string | null {
  if (!Object.hasOwn(ACCOUNT_PATHS, page)) return null;
  const pattern: string = ACCOUNT_PATHS[page as keyof typeof ACCOUNT_PATHS];
  return pattern.replace(/@(\w+)/g, (_, name: string) => encodeURIComponent(String(parameters[name])));
}
