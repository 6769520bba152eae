/**
 * The addresses that only the owner of the project can give: the one place for each. `release.ts prepare` writes them
 * into the packages, the manual links to them, and a release is refused while one is missing.
 */
export interface Owner {
  /** OWNER: the repository, such as `https://github.com/example/ashlar`. npm compares it with where a release was built. */
  readonly repository: string;
  /** OWNER: where the manual is served, such as `https://ashlar.example`. */
  readonly homepage: string;
}

export const OWNER: Owner = { repository: "", homepage: "" };
