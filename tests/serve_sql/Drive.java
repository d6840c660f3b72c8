import java.io.StringReader;
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
import java.util.Properties;
import org.postgresql.PGConnection;

/** Drives the server with PostgreSQL's JDBC driver. */
public class Drive {
    static final String WORK = System.getenv("WORK");

    public static void main(String[] args) throws Exception {
        for (String mode : new String[] {"extended", "simple"}) {
            Properties properties = new Properties();
            properties.setProperty("user", "me");
            properties.setProperty("password", System.getenv("PGPASSWORD"));
            properties.setProperty("sslmode", "verify-full");
            properties.setProperty("sslrootcert", System.getenv("PGSSLROOTCERT"));
            properties.setProperty("preferQueryMode", mode);
            properties.setProperty("prepareThreshold", "2");
            String url = "jdbc:postgresql://localhost:" + System.getenv("PORT") + "/shop";
            try (Connection connection = DriverManager.getConnection(url, properties)) {
                queries(connection);
                if (mode.equals("extended")) {
                    queries(connection);
                    metadata(connection);
                    parameters(connection);
                    cursor(connection);
                    cancel(connection);
                    copy(connection);
                }
            }
            System.out.println("JDBC, " + mode + ": good");
        }
    }

    static void check(boolean holds, Object what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    static List<List<String>> expected(int number) throws Exception {
        List<List<String>> rows = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(WORK, "expected", number + ".csv"))) {
            List<String> fields = new ArrayList<>();
            StringBuilder field = new StringBuilder();
            boolean quoted = false;
            for (char c : line.toCharArray()) {
                if (c == '"') {
                    quoted = !quoted;
                } else if (c == ',' && !quoted) {
                    fields.add(field.toString());
                    field.setLength(0);
                } else {
                    field.append(c);
                }
            }
            fields.add(field.toString());
            rows.add(fields);
        }
        return rows;
    }

    static boolean same(String one, String other) {
        if (one.equals(other)) {
            return true;
        }
        try {
            double a = Double.parseDouble(one), b = Double.parseDouble(other);
            return Math.abs(a - b) <= 1e-9 * Math.max(1, Math.max(Math.abs(a), Math.abs(b)));
        } catch (NumberFormatException error) {
            return false;
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
                try (PreparedStatement statement = connection.prepareStatement(sql)) {
                    if (!statement.execute()) {
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
            List<List<String>> expected = expected(number);
            check(expected.size() == found.size(), "query " + number + ": " + found.size() + " rows");
            for (int row = 0; row < found.size(); row++) {
                for (int column = 0; column < found.get(row).size(); column++) {
                    String one = expected.get(row).get(column), other = found.get(row).get(column);
                    check(same(one, other), "query " + number + ": " + other + " instead of " + one);
                }
            }
        }
    }

    static List<String> names(ResultSet rows, String column) throws SQLException {
        List<String> names = new ArrayList<>();
        while (rows.next()) {
            names.add(rows.getString(column));
        }
        return names;
    }

    static void metadata(Connection connection) throws SQLException {
        var data = connection.getMetaData();
        check(data.getDatabaseProductName().equals("PostgreSQL"), data.getDatabaseProductName());
        check(names(data.getTables(null, "public", "%", new String[] {"TABLE"}), "TABLE_NAME").size() == 8, "tables");
        check(names(data.getTables(null, null, "line%", null), "TABLE_NAME").contains("lineitem"), "line%");
        check(names(data.getSchemas(), "TABLE_SCHEM").contains("public"), "schemas");
        check(names(data.getCatalogs(), "TABLE_CAT").contains("shop"), "catalogs");
        ResultSet columns = data.getColumns(null, "public", "lineitem", "l_quantity");
        check(columns.next() && columns.getString("TYPE_NAME").equals("numeric"), "l_quantity");
        check(columns.getInt("COLUMN_SIZE") == 15 && columns.getInt("DECIMAL_DIGITS") == 2, "digits");
        check(names(data.getColumns(null, null, "lineitem", "%"), "COLUMN_NAME").size() == 16, "columns");
        check(!data.getPrimaryKeys(null, null, "lineitem").next(), "keys");
        check(!data.getImportedKeys(null, null, "lineitem").next(), "imported keys");
        check(!data.getIndexInfo(null, null, "lineitem", false, false).next(), "indexes");
        check(!data.getProcedures(null, null, "%").next(), "procedures");
        check(!data.getFunctions(null, null, "%").next(), "functions");
        check(names(data.getTypeInfo(), "TYPE_NAME").contains("int4"), "types");
        check(names(data.getTableTypes(), "TABLE_TYPE").contains("TABLE"), "table types");
        data.getTablePrivileges(null, null, "lineitem").close();
        data.getColumnPrivileges(null, null, "lineitem", "%").close();
        data.getBestRowIdentifier(null, null, "lineitem", 0, false).close();
        data.getVersionColumns(null, null, "lineitem").close();
        data.getUDTs(null, null, "%", null).close();
        data.getSQLKeywords();
        check(data.getMaxColumnNameLength() == 63, data.getMaxColumnNameLength());
        check(data.getMaxIndexLength() >= 0, "index");
    }

    static void parameters(Connection connection) throws SQLException {
        String sql = "SELECT count(*) FROM lineitem WHERE l_shipdate <= ? AND l_quantity < ? AND l_returnflag = ? AND l_linenumber = ?";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            check(statement.getParameterMetaData().getParameterCount() == 4, "parameters");
            for (int run = 0; run < 5; run++) {
                statement.setDate(1, Date.valueOf("1998-09-02"));
                statement.setBigDecimal(2, new BigDecimal("24"));
                statement.setString(3, "R");
                statement.setInt(4, run % 7 + 1);
                ResultSet rows = statement.executeQuery();
                check(rows.next() && rows.getLong(1) > 0, "count " + run);
            }
        }
        String types = "SELECT ?, ?, ?, ?, ?, ?";
        try (PreparedStatement statement = connection.prepareStatement(types)) {
            for (int run = 0; run < 5; run++) {
                statement.setLong(1, 1L << 40);
                statement.setDouble(2, 1.5);
                statement.setBoolean(3, true);
                statement.setTimestamp(4, Timestamp.valueOf("2000-01-02 03:04:05.6"));
                statement.setBytes(5, new byte[] {0, (byte) 255});
                statement.setNull(6, java.sql.Types.INTEGER);
                ResultSet rows = statement.executeQuery();
                check(rows.next(), "types");
                check(rows.getLong(1) == 1L << 40 && rows.getDouble(2) == 1.5 && rows.getBoolean(3), "numbers");
                check(rows.getBytes(5).length == 2 && rows.getObject(6) == null, "bytes");
            }
        }
        try (Statement statement = connection.createStatement()) {
            statement.execute("SELECT nonsense FROM nation");
            throw new AssertionError("no error");
        } catch (SQLException error) {
            check(error.getSQLState().equals("42703"), error.getSQLState());
        }
    }

    static void cursor(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(50);
            ResultSet rows = statement.executeQuery("SELECT o_orderkey FROM orders ORDER BY 1 LIMIT 333");
            int count = 0;
            while (rows.next()) {
                count++;
            }
            check(count == 333, count);
        }
        connection.commit();
        connection.setAutoCommit(true);
        connection.setReadOnly(true);
        connection.setReadOnly(false);
        check(connection.getTransactionIsolation() == Connection.TRANSACTION_READ_COMMITTED, "isolation");
        check(connection.isValid(5), "valid");
    }

    static void cancel(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            Thread canceller = new Thread(() -> {
                try {
                    Thread.sleep(500);
                    statement.cancel();
                } catch (Exception error) {
                    throw new RuntimeException(error);
                }
            });
            canceller.start();
            try {
                statement.executeQuery("SELECT count(*) FROM lineitem a, lineitem b, lineitem c");
                throw new AssertionError("no error");
            } catch (SQLException error) {
                check(error.getSQLState().equals("57014"), error.getSQLState());
            }
            canceller.join();
        }
    }

    static void copy(Connection connection) throws Exception {
        var copies = connection.unwrap(PGConnection.class).getCopyAPI();
        var text = new java.io.StringWriter();
        check(copies.copyOut("COPY (SELECT * FROM region) TO STDOUT (FORMAT csv)", text) == 5, "copy");
        try {
            copies.copyIn("COPY region FROM STDIN", new StringReader("x"));
            throw new AssertionError("no error");
        } catch (SQLException error) {
            check(error.getSQLState().equals("0A000"), error.getSQLState());
        }
    }
}
