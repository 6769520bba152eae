/**
 * The only place for the URLs that the project's owner must provide. `release.ts prepare` writes them into the packages,
 * the manual links to them, and a release is refused while one is missing.
 */
export interface Owner {
  /** OWNER: the repository, such as `https://github.com/example/ashlar`. npm compares it with the release's build. */
  readonly repository: string;
  /** OWNER: where the manual is served, such as `https://ashlar.example`. */
  readonly homepage: string;
}

export const OWNER: Owner = { repository: "", homepage: "" };
