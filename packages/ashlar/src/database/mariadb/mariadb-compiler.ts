import {
  type AddColumnNode,
  type ColumnDefinitionNode,
  type CreateTableNode,
  ForeignKeyConstraintNode,
  type InsertQueryNode,
  MysqlQueryCompiler,
  type OperationNode,
  RawNode,
} from "kysely";

/**
 * Text in new tables is compared byte by byte, including trailing spaces, whatever the database's default is. With
 * MariaDB's default, `josé@` finds `jose@`. The servers have different names for this collation; each server reads one
 * of the comments.
 */
export const BYTE_BY_BYTE =
  "character set utf8mb4 /*M!100200 collate utf8mb4_nopad_bin */ /*!80017 collate utf8mb4_0900_bin */";

/** The engine with transactions and foreign keys, whatever the server's default is. */
const ENGINE = "engine=InnoDB";

const CHOOSES_ENGINE = /\bengine\b/i;
const CHOOSES_TEXT = /\b(?:collate|charset|character set)\b/i;

/**
 * Kysely's MySQL compiler, adapted to statements that are written for SQLite and PostgreSQL. It quotes names the same
 * way, which the session's `sql_mode` allows, so that listeners of `onQuery` see the same text.
 */
export class MariadbCompiler extends MysqlQueryCompiler {
  protected override getLeftIdentifierWrapper(): string {
    return '"';
  }

  protected override getRightIdentifierWrapper(): string {
    return '"';
  }

  protected override sanitizeIdentifier(identifier: string): string {
    return identifier.replaceAll('"', '""');
  }

  protected override visitCreateTable(node: CreateTableNode): void {
    const endModifiers = node.endModifiers ?? [];
    const isChosen = (choice: RegExp) => endModifiers.some((one) => choice.test(textIn(one)));
    const defaults = [...(isChosen(CHOOSES_ENGINE) ? [] : [ENGINE]), ...(isChosen(CHOOSES_TEXT) ? [] : [BYTE_BY_BYTE])];
    super.visitCreateTable({
      ...node,
      columns: node.columns.map(withoutReferences),
      constraints: [...(node.constraints ?? []), ...node.columns.flatMap(foreignKeyOf)],
      endModifiers: [...defaults.map((text) => RawNode.createWithSql(text)), ...endModifiers],
    });
  }

  protected override visitAddColumn(node: AddColumnNode): void {
    super.visitAddColumn({ ...node, column: withoutReferences(node.column) });
    for (const constraint of foreignKeyOf(node.column)) {
      this.append(", add ");
      this.visitNode(constraint);
    }
  }

  /** Neither server supports `default values`. */
  protected override visitInsertQuery({ defaultValues, ...node }: InsertQueryNode): void {
    const noValues = { columns: [], values: RawNode.createWithSql("values ()") };
    super.visitInsertQuery(defaultValues === true ? { ...node, ...noValues } : node);
  }
}

/** MySQL parses a column's `references` but ignores it. As a table constraint, it is enforced. */
function foreignKeyOf({ column, references }: ColumnDefinitionNode): ForeignKeyConstraintNode[] {
  if (references === undefined) return [];
  const { table, columns } = references;
  return [{ ...ForeignKeyConstraintNode.create([column], table, columns), references }];
}

function withoutReferences({ references: _, ...node }: ColumnDefinitionNode): ColumnDefinitionNode {
  return node;
}

function textIn(node: OperationNode): string {
  return RawNode.is(node) ? node.sqlFragments.join(" ") : "";
}
