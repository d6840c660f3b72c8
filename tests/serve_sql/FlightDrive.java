import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.List;

/** Drives Flight SQL with Arrow's JDBC driver. It needs --add-opens=java.base/java.nio=ALL-UNNAMED. */
public class FlightDrive {
    static final String WORK = System.getenv("WORK");

    public static void main(String[] args) throws Exception {
        String plain = "jdbc:arrow-flight-sql://" + System.getenv("OPEN_FLIGHT").replaceFirst(".*//", "") + "?useEncryption=false";
        String tls = "jdbc:arrow-flight-sql://" + System.getenv("FLIGHT").replaceFirst(".*//", "")
            + "?useEncryption=true&useSystemTrustStore=false&tlsRootCerts=" + WORK + "/cert.pem";
        try (Connection connection = DriverManager.getConnection(plain)) {
            queries(connection);
            types(connection);
            metadata(connection);
            parameters(connection);
            errors(connection);
        }
        try (Connection connection = DriverManager.getConnection(tls, "me", System.getenv("PGPASSWORD"))) {
            queries(connection);
        }
        try {
            DriverManager.getConnection(tls, "me", "wrong").close();
            throw new AssertionError("no error");
        } catch (SQLException error) {
            check(error.toString().contains("password") || error.getCause().toString().contains("password"), error);
        }
        System.out.println("Flight SQL, JDBC: good");
        // The driver's threads do not end by themselves.
        System.exit(0);
    }

    static void check(boolean holds, Object what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    static void queries(Connection connection) throws Exception {
        for (int number = 1; number <= 22; number++) {
            StringBuilder text = new StringBuilder();
            for (String line : Files.readAllLines(Path.of(WORK, "queries", number + ".sql"))) {
                if (!line.startsWith("--")) {
                    text.append(line).append('\n');
                }
            }
            List<List<String>> found = new ArrayList<>();
            for (String sql : text.toString().split(";")) {
                if (sql.isBlank()) {
                    continue;
                }
                try (Statement statement = connection.createStatement()) {
                    if (!statement.execute(sql)) {
                        continue;
                    }
                    ResultSet rows = statement.getResultSet();
                    ResultSetMetaData columns = rows.getMetaData();
                    List<String> names = new ArrayList<>();
                    for (int index = 1; index <= columns.getColumnCount(); index++) {
                        names.add(columns.getColumnName(index));
                    }
                    found.add(names);
                    while (rows.next()) {
                        List<String> row = new ArrayList<>();
                        for (int index = 1; index <= columns.getColumnCount(); index++) {
                            String value = rows.getString(index);
                            row.add(value == null ? "" : value);
                        }
                        found.add(row);
                    }
                }
            }
            List<List<String>> expected = Drive.expected(number);
            check(expected.size() == found.size(), "query " + number + ": " + found.size() + " rows");
            for (int row = 0; row < found.size(); row++) {
                for (int column = 0; column < found.get(row).size(); column++) {
                    String one = expected.get(row).get(column), other = found.get(row).get(column);
                    check(Drive.same(one, other), "query " + number + ": " + other + " instead of " + one);
                }
            }
        }
    }

    static void types(Connection connection) throws SQLException {
        String sql = "SELECT DATE '2000-01-02' AS d, CAST('-12.50' AS DECIMAL(9, 2)) AS n, X'00ff' AS b, "
            + "TIMESTAMP '2000-01-02 03:04:05.6' AS t, make_array('x', NULL) AS l, NULL AS e, 'é' AS s, "
            + "CAST(1.5 AS REAL) AS f, true AS y, 7 AS i, named_struct('a', 1) AS o, "
            + "arrow_cast('v', 'Utf8View') AS v, arrow_cast('w', 'Dictionary(Int8, Utf8)') AS w";
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            check(rows.next(), "types");
            check(rows.getString("d").equals("2000-01-02"), rows.getString("d"));
            check(rows.getBigDecimal("n").equals(new BigDecimal("-12.50")), rows.getBigDecimal("n"));
            check(rows.getBytes("b").length == 2, "bytes");
            check(rows.getTimestamp("t").getNanos() == 600000000, rows.getTimestamp("t"));
            check(rows.getArray("l") != null && rows.getObject("l").toString().contains("x"), rows.getObject("l"));
            check(rows.getObject("e") == null && rows.wasNull(), "null");
            check(rows.getString("s").equals("é") && rows.getFloat("f") == 1.5f && rows.getBoolean("y"), "scalars");
            check(rows.getLong("i") == 7 && rows.getObject("o").toString().contains("1"), rows.getObject("o"));
            check(rows.getString("v").equals("v") && rows.getString("w").equals("w"), "texts");
        }
    }

    static List<String> names(ResultSet rows, String column) throws SQLException {
        List<String> names = new ArrayList<>();
        try (rows) {
            while (rows.next()) {
                names.add(rows.getString(column));
            }
        }
        return names;
    }

    static void metadata(Connection connection) throws SQLException {
        var data = connection.getMetaData();
        check(data.getDatabaseProductName().equals("Sluicegate"), data.getDatabaseProductName());
        check(!data.getDatabaseProductVersion().isEmpty(), "version");
        check(names(data.getTables(null, "public", "%", new String[] {"TABLE"}), "TABLE_NAME").size() == 8, "tables");
        check(names(data.getTables(null, null, "line%", null), "TABLE_NAME").contains("lineitem"), "line%");
        check(names(data.getTables(null, null, null, null), "TABLE_NAME").size() >= 8, "all tables");
        check(names(data.getSchemas(), "TABLE_SCHEM").contains("public"), "schemas");
        check(!names(data.getCatalogs(), "TABLE_CAT").isEmpty(), "catalogs");
        check(names(data.getTableTypes(), "TABLE_TYPE").contains("VIEW"), "table types");
        // The driver returns no types, whatever the server offers.
        data.getTypeInfo().close();
        ResultSet columns = data.getColumns(null, "public", "lineitem", "l_quantity");
        check(columns.next() && columns.getString("TYPE_NAME").equals("DECIMAL"), "l_quantity");
        check(columns.getInt("COLUMN_SIZE") == 15 && columns.getInt("DECIMAL_DIGITS") == 2, "digits");
        columns.close();
        check(names(data.getColumns(null, null, "lineitem", "%"), "COLUMN_NAME").size() == 16, "columns");
        check(names(data.getPrimaryKeys(null, null, "lineitem"), "COLUMN_NAME").isEmpty(), "keys");
        check(names(data.getImportedKeys(null, null, "lineitem"), "FKCOLUMN_NAME").isEmpty(), "imported keys");
        check(names(data.getExportedKeys(null, null, "lineitem"), "FKCOLUMN_NAME").isEmpty(), "exported keys");
        check(data.isReadOnly(), "read only");
    }

    static void parameters(Connection connection) throws SQLException {
        String sql = "SELECT count(*) FROM lineitem WHERE l_shipdate <= ? AND l_quantity < ? AND l_returnflag = ? AND l_linenumber = ?";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            check(statement.getParameterMetaData().getParameterCount() == 4, "parameters");
            for (int run = 0; run < 5; run++) {
                statement.setDate(1, Date.valueOf("1998-09-02"));
                statement.setBigDecimal(2, new BigDecimal("24.00"));
                statement.setString(3, "R");
                statement.setLong(4, run % 7 + 1);
                try (ResultSet rows = statement.executeQuery()) {
                    check(rows.next() && rows.getLong(1) > 0, "count " + run);
                }
            }
        }
    }

    static void errors(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("CREATE VIEW mine AS SELECT 1 AS a");
            try (ResultSet rows = statement.executeQuery("SELECT a FROM mine")) {
                check(rows.next() && rows.getLong(1) == 1, "view");
            }
        }
        for (String sql : new String[] {"SELECT nonsense FROM nation", "CREATE TABLE t AS SELECT 1 AS a"}) {
            try (Statement statement = connection.createStatement()) {
                statement.execute(sql);
                throw new AssertionError("no error");
            } catch (SQLException error) {
                check(error.getMessage().contains("Hint: "), error);
            }
        }
    }
}
