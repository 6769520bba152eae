import { ClientError, SessionClient } from "ashlar/client";

/** Who is logged in, as GET /home responds. */
export interface User {
  readonly name: string;
  readonly email: string;
  readonly verified_at: string | null;
}

/** Called when a request finds that no one is logged in anymore. */
let whenLoggedOut = (): void => {};

export function onLoggedOut(show: () => void): void {
  whenLoggedOut = show;
}

export const client = new SessionClient({
  url: import.meta.env.VITE_API_URL ?? "http://localhost:3000",
  onUnauthenticated: () => whenLoggedOut(),
});

/** The message for a failure that is not about one of the inputs. */
export function sentenceFor(error: unknown): string {
  if (!(error instanceof ClientError)) throw error;
  switch (error.code) {
    case "E_NETWORK":
    case "E_TIMEOUT":
    case "E_INVALID_RESPONSE":
      return "The shop can't be reached. Check your connection, and try again.";
    case "E_CSRF":
      return "Your browser doesn't send cookies to the shop. Allow them, and try again.";
    default:
      // In the language of the browser.
      return error.message;
  }
}
