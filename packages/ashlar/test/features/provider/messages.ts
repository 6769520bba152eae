/** The sentences of accounts at example-site. */
export const MESSAGES = {
  "exampleSite.title": "Example Site",
  "exampleSite.logIn": "Log in with Example Site",
  "exampleSite.confirm": "Confirm with Example Site",
  "exampleSite.connect": "Connect",
  "exampleSite.disconnect": "Disconnect",
  "exampleSite.connectedTo": "You can log in with {email} at Example Site.",
  "exampleSite.connected": "Your account at Example Site was connected.",
  "exampleSite.disconnected": "Your account at Example Site was disconnected.",
  "exampleSite.failed": "Example Site did not confirm who you are. Try again.",
  "exampleSite.unverified": "Example Site has not verified your email address.",
  "exampleSite.taken": "An account with this address exists. Log in, and connect Example Site there.",
  "exampleSite.foreign": "This account at Example Site is not connected to yours.",
  "exampleSite.used": "This account at Example Site is connected to another account.",
  "exampleSite.last": "This is your only way to log in. Set a password first.",
} as const;

declare module "ashlar" {
  interface Messages extends Readonly<typeof MESSAGES> {}
}
